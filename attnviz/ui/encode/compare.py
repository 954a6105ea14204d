"""A second sentence in the head that is looked at: below the first, with the same token chosen."""

from dataclasses import replace

import streamlit as st

from attnviz.analysis.token_alignment import same_cell
from attnviz.analysis.view import HeadMatrix, head_matrix
from attnviz.analysis.wording import describe_link, head_name
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap
from attnviz.ui.address.state import visit
from attnviz.ui.background.results import Traced, trace
from attnviz.ui.explorer import follow, selected_cell
from attnviz.ui.layout import escaped, story
from attnviz.ui.permissions import check_length
from attnviz.ui.quantity import as_in
from attnviz.ui.sidebar import HeadChoice

SLOT = "2"


def show_compared(
    traced: Traced, attention: AttentionMap, choice: HeadChoice, first: tuple[HeadMatrix, tuple[int, int]], view: str
) -> None:
    """The sentence that `traced` is compared with, if there is one; `first`: the matrix of that, and its chosen cell.

    Raises:
        TraceError: the view leaves none of its tokens.
    """
    text = st.session_state.get("other", "")
    if not text or traced.file:
        return
    try:
        check_length(text)
        other_traced = trace(st.session_state.model, replace(traced.trace.prompt, text=text))
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return
    if other_traced is None:
        return
    other = as_in(traced, other_traced).trace.map(attention.kind)
    matrix = head_matrix(other, layer=choice.layer, head=choice.head, view=choice.view)
    cell = selected_cell(matrix, SLOT) or same_cell(first[0], matrix, first[1][0])
    with st.container(border=True, key="compared"):
        story(describe_link(matrix, head_name(choice.layer, choice.head), cell))
        follow(other, choice, matrix, cell, view, SLOT)
        place = {"layer": choice.layer, "head": choice.head, "attention": attention.kind}
        st.button(
            "Which heads look elsewhere?", key="to-compare", icon=":material/compare_arrows:", help="Opens both on Compare.",
            on_click=visit, args=("compare",),
            kwargs={"model": st.session_state.model, "text": traced.trace.prompt.text, "other": text, **place},
        )  # fmt: skip
