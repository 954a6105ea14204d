"""The picture that a question is about, without the rows that answer it: a click in it is a guess."""

from collections.abc import Callable

import streamlit as st

from attnviz.analysis.head_view import HeadView
from attnviz.analysis.word_names import word_at, word_names
from attnviz.analysis.wording import head_name
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap
from attnviz.lessons.hidden_rows import hidden_map
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.lessons.picture_link import LessonPicture
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.explorer import ShownHead, show_heads, show_matrix
from attnviz.ui.lessons.place import LessonPlace
from attnviz.ui.lessons.source import PageSource


def picked_answer(place: LessonPlace, number: str) -> str:
    """The word or the head that was clicked in the picture for this question; empty: none."""
    name, asked, answer = st.session_state.get("lesson_picked", ("", "", ""))
    return answer if (name, asked) == (place.name, number) else ""


def show_hidden_picture(place: LessonPlace, number: str, question: LessonQuestion) -> None:
    """Draws what the picture shows besides the answer, where there is anything."""
    picture = place.step.picture
    try:
        attention = _hidden(place)
    except AttnvizError:
        # The question has said it.
        return
    if picture is None or attention is None:
        return

    def pick(answer: str) -> None:
        st.session_state.lesson_picked = (place.name, number, answer)

    slot = "1" if place.page == "translate" else ""
    with st.container(key="lesson-hidden"):
        st.caption(f"This is the picture. The row of “{escaped(question.text('from'))}” is hidden until you have answered.")
        if question.kind == "head":
            head = HeadView(0, 0, picture.view, True)
            show_heads(attention, head, lambda layer, chosen: pick(head_name(layer, chosen)), slot=slot)
        else:
            _show_rest(attention, picture, question, pick, slot)


def _show_rest(
    attention: AttentionMap, picture: LessonPicture, question: LessonQuestion, pick: Callable[[str], None], slot: str
) -> None:
    """The head of the link, whose other rows show what it does."""
    result = PageSource().result(picture)
    layer, number = picture.head(result.card)
    head = HeadView(layer, number, picture.view, True)
    matrix = head.matrix(attention)
    row, names = word_at(question.text("from"), matrix.queries), word_names(matrix.keys)

    def on_cell(query: int, key: int) -> None:
        if query == row and question.kind == "token":
            pick(names[key])

    show_matrix(ShownHead(attention, head, matrix, (row, matrix.own[row] or 0)), on_cell, slot=slot)


def _hidden(place: LessonPlace) -> AttentionMap | None:
    """The map of the step, the same in every run: what is drawn of it is kept as long as it is."""
    key = place.name, place.number
    known = st.session_state.get("lesson_hidden")
    if known is None or known[0] != key:
        known = st.session_state.lesson_hidden = (key, hidden_map(place.step, PageSource()))
    return known[1]
