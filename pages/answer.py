"""Answer: type a question about a passage, see the words that answer it and where question and passage meet."""

import streamlit as st

from attnviz.analysis.answer.meeting import describe_answer, describe_meeting, describe_word
from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.answer.pictures import (
    Looking,
    answerers_picker,
    explain_cell,
    explained,
    forget_question,
    headline,
    looking,
    show_every_head,
    show_joint,
    show_meeting,
    show_passage,
    show_question,
    windows_notice,
)
from attnviz.ui.background.results import Answered, answer
from attnviz.ui.explain import keep, notices
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt import question_box
from attnviz.ui.translate.sidebar import machines

CHOOSE = "Choose a model in the sidebar: one, or two side by side."
NO_MODEL = (
    "Choose a model in the sidebar. None travels with this copy of attnviz yet: train one with "
    "`attnviz train answer-en --data FOLDER`, or name one of the hub, such as distilbert-base-cased-distilled-squad."
)


def show(slot: int, answered: Answered, look: Looking) -> None:
    """One model's answer, marked in the passage, and what of the question it has to do with."""
    found, place, name = look.meeting(answered.trace), answered.place, look.name(answered.trace)
    headline(answered)
    word = show_question(found, place, slot, look)
    st.caption(
        f"What the answer's words give to each word of the question, {name}. Click one to see its bars."
        if word is None
        else "Bars show where the passage meets the chosen word. Click it again for where the answer starts and ends."
    )
    show_passage(answered, found, word, slot)
    answers = answered.answers
    texts = [answers.text(span) for span in answers.result.spans]
    told = describe_answer(texts, answers.result.spans, margin=answers.result.margin, threshold=answers.decoding.threshold)
    story(told, describe_meeting(found, name, place) if word is None else describe_word(found, name, word))


def show_tables(slot: int, name: str, answered: Answered, look: Looking, n_models: int) -> None:
    """Where question and passage meet as a matrix, and start × end."""
    left, right = st.columns([4, 5], gap="large") if n_models == 1 else (st.container(), st.container())
    with left:
        st.subheader("Who looks at whom", anchor=False)
        st.caption(f"{look.name(answered.trace)}. Rows look at columns; of a long passage the part around the answer.")
        chosen = show_meeting(look.meeting(answered.trace), answered.place, slot, look)
        explain_cell(name, answered, look, slot, chosen)
    with right:
        st.subheader("Start × end", anchor=False)
        st.caption("The likeliest first and last tokens of an answer; the best spans are numbered. Grey: not possible.")
        show_joint(answered, slot)


header("Answer", "Ask about a passage. See the words that answer, and where question and passage meet.")
names = answerers_picker()
prompt, example = question_box(forget=forget_question)
options = st.sidebar.container()
shown: dict[int, Answered] = {}
if not names:
    st.info(CHOOSE if catalog.available_for("answer") else NO_MODEL, icon=":material/school:")
elif prompt:
    found = {slot: answer(name, prompt) for slot, name in enumerate(names, start=1)}
    shown = {slot: answered for slot, answered in found.items() if answered}
if shown:
    look = looking(list(shown.values()), options)
    try:
        with hero():
            for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
                with place:
                    notices(answered)
                    windows_notice(answered)
                    show(slot, answered, look)
        if example:
            st.caption(f":material/lightbulb: {example.notice}")
        for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
            with place:
                show_tables(slot, names[slot - 1], answered, look, len(shown))
        for place, (slot, answered) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
            with place:
                show_every_head(answered, look, slot)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    machines(list(shown.values()))
    explained()
    keep([look.kept(names[slot - 1], each) for slot, each in shown.items()])
finish()
