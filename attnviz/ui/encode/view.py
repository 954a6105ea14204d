"""Around the picture of Encode: a second sentence in the same head, and what the head does over many sentences."""

from dataclasses import replace

import streamlit as st

from attnviz.analysis.heads.wording import describe_label
from attnviz.analysis.token_alignment import same_cell
from attnviz.analysis.view import HeadMatrix, HeadView
from attnviz.analysis.wording import describe_link, head_name
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap
from attnviz.models.result import Result
from attnviz.survey.shipped import available, shipped_atlas
from attnviz.ui.address.state import visit
from attnviz.ui.background.results import in_quantity, run
from attnviz.ui.explorer import follow, selected_cell
from attnviz.ui.layout import escaped, story
from attnviz.ui.permissions import check_length

SLOT = "2"


def show_second_sentence(
    result: Result, attention: AttentionMap, head: HeadView, first: tuple[HeadMatrix, tuple[int, int]], view: str
) -> None:
    """The sentence that a result is compared with, if there is one; `first`: the matrix of that, and its chosen cell.

    Raises:
        TraceError: the view leaves none of its tokens.
    """
    text = st.session_state.get("other", "")
    if not text or result.file:
        return
    try:
        check_length(text)
        second = run(result.name, "encode", replace(result.prompt, text=text))
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return
    if second is None:
        return
    other = in_quantity(second, result.quantity).trace.map(attention.kind)
    matrix = head.matrix(other)
    cell = selected_cell(matrix, SLOT) or same_cell(first[0], matrix, first[1][0])
    with st.container(border=True, key="compared"):
        story(describe_link(matrix, head_name(head.layer, head.head), cell))
        follow(other, head, matrix, cell, view, SLOT)
        place = {"layer": head.layer, "head": head.head, "attention": attention.kind}
        st.button(
            "Which heads look elsewhere?", key="to-compare", icon=":material/compare_arrows:", help="Opens both on What if.",
            on_click=visit, args=("whatif",),
            kwargs={"model": result.name, "text": result.prompt.text, "other": text, **place},
        )  # fmt: skip


def show_head_label(result: Result, attention: AttentionMap, head: HeadView) -> None:
    """One line on what the head does over many sentences, which opens the evidence on Heads, where the model's atlas is here.

    None of a mean, of a file, or of a map that no atlas is about.
    """
    model = result.trace.model
    # An atlas is about how a text looks at itself.
    if head.head is None or result.file or attention.kind == "cross" or attention is not result.trace.maps[0]:
        return
    if model not in available() or (attention.n_layers, attention.n_heads) != (atlas := shipped_atlas(model)).shape:
        return
    st.button(
        describe_label(atlas, head.layer, head.head), key="head-label", type="tertiary", icon=":material/manage_search:",
        help="Opens what this rests on, on the page Heads.", on_click=visit, args=("heads",),
        kwargs={"model": model, "layer": head.layer, "head": head.head},
    )  # fmt: skip
