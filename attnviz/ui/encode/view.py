"""Below the picture of Encode: what the head does over many sentences."""

import streamlit as st

from attnviz.analysis.head_view import HeadView
from attnviz.analysis.heads.verdict import describe_label
from attnviz.core.trace import AttentionMap
from attnviz.models.result import Result
from attnviz.survey.corpora import available, shipped_atlas
from attnviz.ui.address.address_sync import visit


def show_head_label(result: Result, attention: AttentionMap, head: HeadView) -> None:
    """Say in one line what the head does over many sentences, and link to the evidence on Heads, where there is an atlas.

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
        help="Opens What heads do, with the measurements behind this sentence.", on_click=visit, args=("heads",),
        kwargs={"model": model, "layer": head.layer, "head": head.head},
    )  # fmt: skip
