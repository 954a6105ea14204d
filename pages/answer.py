"""Answer: type a question about a passage, see the words that answer it and where question and passage meet."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.answer.notices import explained, headline, tell_answer, windows_notice
from attnviz.ui.answer.pictures import (
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
from attnviz.ui.background.results import Answered, answer
from attnviz.ui.explain import keep, notices
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
    shown = look.meeting(answered.trace)
    headline(answered, place)
    tell_answer(answered, shown, chosen_word(shown, slot), look.name(answered.trace), place)


def show(slot: int, name: str, answered: Answered, look: Looking, picture: str) -> None:
    """One model's picture: question and passage, where they meet as a matrix, or start × end."""
    if picture == "spans":
        st.caption("The likeliest first and last tokens of an answer; the best spans are numbered. Grey: not possible.")
        show_joint(answered, slot)
        return
    shown = look.meeting(answered.trace)
    if picture == "passage":
        show_passage(answered, shown, chosen_word(shown, slot), slot, look)
        return
    st.caption(f"{look.name(answered.trace)}. Rows look at columns; of a long passage the part around the answer.")
    explain_cell(name, answered, look, slot, show_meeting(shown, answered.place, slot, look))


header("Answer", "Ask about a passage. See the words that answer, and where question and passage meet.")
names = answerers_picker()
prompt, example = question_box(forget=forget_question)
options = st.sidebar.container()
shown: dict[int, Answered] = {}
if not names:
    st.info(CHOOSE if catalog.available_for("answer") else NO_MODEL, icon=":material/school:")
elif prompt:
    answers = {slot: answer(name, prompt) for slot, name in enumerate(names, start=1)}
    shown = {slot: answered for slot, answered in answers.items() if answered}
if shown:
    look = looking(list(shown.values()), options)
    try:
        with hero() as beside:
            for answered in shown.values():
                notices(answered)
                windows_notice(answered)
            places = [beside] if len(shown) == 1 else st.columns(len(shown), gap="large")
            for place, (slot, answered) in zip(places, shown.items(), strict=True):
                tell(slot, answered, look, place)
            picture = picture_picker()
            for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
                with place:
                    show(slot, names[slot - 1], answered, look, picture)
        if example:
            st.caption(f":material/lightbulb: {example.notice}")
        for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
            with place:
                show_every_head(answered, look, slot)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    machines(list(shown.values()))
    explained()
    keep([look.kept(names[slot - 1], each) for slot, each in shown.items()])
finish()
