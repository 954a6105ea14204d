"""Answer: type a question about a passage, see the words that answer it and where question and passage meet."""

from collections.abc import Mapping

import streamlit as st

from attnviz.core.errors import TraceError
from attnviz.models.result import Result
from attnviz.ui import answer
from attnviz.ui.address.address_sync import finish
from attnviz.ui.answer import AnswerView, answer_download, show_answer_edits, show_every_head, show_picture
from attnviz.ui.download import show_toolbar
from attnviz.ui.edit import Editor, current_result, run_side_by_side
from attnviz.ui.edit_panel import comparing_editor
from attnviz.ui.explorer import in_chosen_quantity
from attnviz.ui.frame.sidebar import machines
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt_box import question_box, show_notice, show_text_notices


def show_answers(results: Mapping[int, Result], editors: Mapping[int, Editor], view: AnswerView) -> None:
    """Show every model's answer and, in the frame of the picture, what was edited in it and its picture."""
    shown = {slot: current_result(each, editors[slot]) for slot, each in results.items()}
    with hero() as beside:
        show_text_notices(*shown.values(), also=answer.notices_of)
        places = [beside] if len(shown) == 1 else st.columns(len(shown), gap="large")
        for place, (slot, each) in zip(places, shown.items(), strict=True):
            answer.show_answer(slot, each, view, place)
        picture = answer.picture_picker(list(shown))
        first = comparing_editor([*editors.values()])
        for place, (slot, each) in zip(st.columns(len(shown), gap="large"), results.items(), strict=True):
            with place:
                show_answer_edits(each, editors[slot], view, compares=editors[slot] is first)
        for place, (slot, each) in zip(st.columns(len(shown), gap="large"), shown.items(), strict=True):
            with place:
                show_picture(slot, each, editors[slot], view, picture)


header("answer")
names = answer.answerers_picker()
prompt, example = question_box(forget=answer.forget_question)
sidebar = st.sidebar.container()
if not names:
    answer.ask_for_model()
results, editors = run_side_by_side(names, "answer", [prompt] * len(names)) if prompt else ({}, {})
if results:
    view = answer.answer_view_picker({slot: current_result(each, editors[slot]) for slot, each in results.items()}, sidebar)
    results = in_chosen_quantity(results, sidebar)
    try:
        show_answers(results, editors, view)
        show_notice(example, next(iter(results.values())))
        for place, (slot, each) in zip(st.columns(len(results), gap="large"), results.items(), strict=True):
            with place:
                show_every_head(each, editors[slot], view, slot)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    shown = [current_result(each, editors[slot]) for slot, each in results.items()]
    machines(shown)
    answer.explain_answer(shown)
    show_toolbar([answer_download(each, view) for each in shown])
finish()
