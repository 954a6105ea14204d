"""Answer: type a question about a passage, see the words that answer it and where question and passage meet."""

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.answer.edited import EditedAnswer, edited_answer, weighed_answers
from attnviz.ui.answer.notices import explained, headline, tell_answer, windows_notice
from attnviz.ui.answer.view import (
    Looking,
    answerers_picker,
    chosen_word,
    explain_cell,
    forget_question,
    looking,
    picture_picker,
    show_every_head,
    show_joint,
    show_meeting,
    show_passage,
)
from attnviz.ui.background.results import Answered
from attnviz.ui.edit.panel import compares_at, show_buttons, show_panel
from attnviz.ui.explain import keep, notices
from attnviz.ui.explorer import places_of
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt import question_box
from attnviz.ui.translate.sidebar import machines

CHOOSE = "Choose a model in the sidebar: one, or two side by side."
NO_MODEL = (
    "Choose a model in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`attnviz train answer-en --data FOLDER`, or name one of the hub, such as distilbert-base-cased-distilled-squad."
)


def tell(slot: int, answered: Answered, look: Looking, place: DeltaGenerator) -> None:
    """One model's answer, and sentences made of its numbers."""
    shown = look.question_attention(answered.trace)
    headline(answered, place)
    tell_answer(answered, shown, chosen_word(shown, slot), look.name(answered), place)


def show_edits(answers: Mapping[int, EditedAnswer], look: Looking) -> None:
    """What is edited in each model, with the way back, and what it says before and after."""
    first = compares_at([each.editing for each in answers.values()])
    for place, answered in zip(st.columns(len(answers), gap="large"), answers.values(), strict=True):
        with place:
            alike = answered.maps(look.attention(answered.shown.trace).kind).alike
            show_panel(answered.editing, answered.before.trace, alike=alike, compares=answered.editing is first)
            answered.tell()


def show(slot: int, name: str, edited: EditedAnswer, look: Looking, picture: str) -> None:
    """One model's picture: question and passage, where they meet as a matrix, or start × end."""
    answered = edited.shown
    attention = look.attention(answered.trace)
    if picture == "spans":
        st.caption("The likeliest first and last tokens of an answer; the best spans are numbered. Grey: not possible.")
        show_joint(answered, slot)
        return
    shown = look.question_attention(answered.trace)
    if picture == "passage":
        show_passage(answered, shown, chosen_word(shown, slot), slot, look)
        return
    st.caption(f"{look.name(answered)}. Rows look at columns; of a long passage the part around the answer.")
    chosen = show_meeting(edited, shown, slot, look)
    if edited.editing.on:
        show_buttons(edited.editing, places_of(attention, look.block(answered.trace)), look.head_of(answered.trace), chosen)
    explain_cell(name, answered, look, slot, chosen)


header("Answer", "Ask about a passage. See the words that answer, and where question and passage meet.")
names = answerers_picker()
prompt, example = question_box(forget=forget_question)
options = st.sidebar.container()
edited_answers: dict[int, EditedAnswer] = {}
shown: dict[int, Answered] = {}
if not names:
    st.info(CHOOSE if catalog.available_for("answer") else NO_MODEL, icon=":material/school:")
elif prompt:
    answers = {slot: edited_answer(slot, name, prompt) for slot, name in enumerate(names, start=1)}
    edited_answers = {slot: answered for slot, answered in answers.items() if answered}
    shown = {slot: answered.shown for slot, answered in edited_answers.items()}
if shown:
    look = looking(list(shown.values()), options)
    edited_answers = weighed_answers(edited_answers, names, options)
    shown = {slot: each.shown for slot, each in edited_answers.items()}
    try:
        with hero() as beside:
            for answered in shown.values():
                notices(answered)
                windows_notice(answered)
            places = [beside] if len(shown) == 1 else st.columns(len(shown), gap="large")
            for place, (slot, answered) in zip(places, shown.items(), strict=True):
                tell(slot, answered, look, place)
            picture = picture_picker(list(shown))
            show_edits(edited_answers, look)
            for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), edited_answers.items(), strict=True):
                with place:
                    show(slot, names[slot - 1], answered, look, picture)
        if example:
            st.caption(f":material/lightbulb: {example.notice}")
        for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), edited_answers.items(), strict=True):
            with place:
                show_every_head(answered, look, slot)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    machines(list(shown.values()))
    explained()
    keep([look.kept(names[slot - 1], each) for slot, each in shown.items()])
finish()
