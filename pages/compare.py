"""Compare: two texts, two models, two checkpoints of Train, or before and after an edit, in every head."""

import streamlit as st

from attnviz.analysis.compare.comparison import Comparison, compare
from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import TraceError
from attnviz.models.result import Result
from attnviz.ui.address.state import finish
from attnviz.ui.checkpoints import side
from attnviz.ui.compare.view import (
    Sides,
    chosen_head,
    download_buttons,
    show_changes,
    show_head,
    show_heads,
    sides_controls,
    tell_aligned_rows,
)
from attnviz.ui.explain import show_text_notices, show_toolbar
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.sidebar import forced_target, machine, map_picker

READING = """
- Tokens are aligned by their text. Between equal tokens, as many on both sides are paired one by one; a token that only one
  side has is a key of its own.
- Of each aligned row the two distributions over keys are compared by their **Jensen-Shannon divergence** in bits: 0 where they
  are equal, 1 where they have no key in common (Lin 1991, *Divergence measures based on the Shannon entropy*). A head's figure
  is the mean over its rows.
- A head that looks elsewhere need not matter to the output: Ablate shows which heads do.
"""


def show_comparison(compared: Comparison, sides: Sides, traces: tuple[Result, Result], notice: str) -> None:
    """How far each head has changed, and one of them on both sides; below it what to notice."""
    chosen = chosen_head(compared)
    at = chosen or compared.most
    with hero() as heading:
        story(compared.sentence(chosen), place=heading)
        with st.container(key="desk-heads"):
            heads, changes = st.columns([3, 2], gap="large")
            with heads:
                show_heads(compared, at)
            with changes:
                show_changes(compared, at)
        show_head(compared, at, sides.names)
        tell_aligned_rows(compared)
    if notice:
        st.caption(f":material/lightbulb: {notice}")
    with st.expander("How to read this, and what misleads"):
        st.markdown(READING)
    show_toolbar(own=lambda: download_buttons(compared, (traces[0].trace, traces[1].trace), at))


header("Compare", "Two texts, models or checkpoints, or before and after an edit: see which heads look elsewhere.")
sides, example = sides_controls()
if sides:
    first, second = (forced_target(prompt) for prompt in sides.prompts)
    one = side(sides.models[0], first, NO_EDITS)
    other = side(sides.models[1], second, sides.edits) if one else None
    if one and other:
        show_text_notices(one)
        show_text_notices(other)
        attention = map_picker(one.trace)
        machine(one)
        try:
            compared = compare(one.trace, other.trace, kind=attention.kind)
            show_comparison(compared, sides, (one, other), example.notice if example else "")
        except TraceError as error:
            st.info(escaped(error), icon=":material/compare_arrows:")
finish()
