"""Under the picture: what the head that is looked at does over many sentences, where the atlas of its model travels along."""

import streamlit as st

from attnviz.analysis.heads.wording import describe_label
from attnviz.core.trace import AttentionMap
from attnviz.survey.shipped import available, shipped_atlas
from attnviz.ui.address.state import visit
from attnviz.ui.background.results import Traced
from attnviz.ui.sidebar import HeadChoice


def tell_head_label(traced: Traced, attention: AttentionMap, choice: HeadChoice) -> None:
    """One line, which opens the evidence on Heads; none of a mean, of a file, or of a map that no atlas is about."""
    model = traced.trace.model
    # An atlas is about how a text looks at itself.
    if choice.head is None or traced.file or attention.kind == "cross" or attention is not traced.trace.maps[0]:
        return
    if model not in available() or (attention.n_layers, attention.n_heads) != (atlas := shipped_atlas(model)).shape:
        return
    st.button(
        describe_label(atlas, choice.layer, choice.head), key="head-label", type="tertiary", icon=":material/manage_search:",
        help="Opens what this rests on, on the page Heads.", on_click=visit, args=("heads",),
        kwargs={"model": model, "layer": choice.layer, "head": choice.head},
    )  # fmt: skip
