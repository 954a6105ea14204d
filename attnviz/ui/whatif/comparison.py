"""Two sides of What if: how far each head has changed, the chosen head on both sides, and what was edited; files."""

import numpy as np
import streamlit as st

from attnviz.analysis.whatif_comparison import Comparison
from attnviz.analysis.wording import describe_edits
from attnviz.core.edits import Edits
from attnviz.core.trace import AttentionTrace
from attnviz.export import whatif_sheets
from attnviz.figures.explorer.script import records_script
from attnviz.figures.html import STYLE as MARKUP
from attnviz.figures.matrix import matrices_record
from attnviz.figures.whatif_matrices import STYLE, changes_table, divergence_grid, three_matrices
from attnviz.ui.address.address_sync import forget
from attnviz.ui.download import drawing_buttons, file_button
from attnviz.ui.explorer import clicked_head, pick_head
from attnviz.ui.layout import Markup, escaped, theme

_markup = Markup("compare", MARKUP + STYLE)
_matrices = Markup("compared-heads", MARKUP + STYLE, records_script())
READING = """
- Tokens are aligned by their text. Between equal tokens, as many on both sides are paired one by one; a token that only one
  side has is a key of its own.
- Of each aligned row the two distributions over keys are compared by their **Jensen-Shannon divergence**: 0 % where they are
  equal, 100 % where they have no key in common (Lin 1991, *Divergence measures based on the Shannon entropy*). A head's
  change is the mean over its rows.
- A head that looks elsewhere need not matter to the output: choose **A head off** to see which heads do.
"""


def show_edits(edits: Edits, trace: AttentionTrace) -> None:
    """Show what is edited on the second side, and the way back; nothing where nothing is."""
    if edits:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{escaped(', '.join(describe_edits(edits, trace).values()))}**", width="content")
            st.button(
                "Back to all heads", key="back", icon=":material/undo:", on_click=forget, args=("edits", "layer", "head"),
            )  # fmt: skip


def chosen_head(compared: Comparison) -> tuple[int, int] | None:
    """Return the head that was clicked, or that the address names; None where there is none."""
    return clicked_head(list(np.ndindex(compared.divergence.shape)))


def show_heads(compared: Comparison, chosen: tuple[int, int]) -> None:
    """Show how far each head has changed; a click chooses one."""
    _markup("divergence", divergence_grid(compared, chosen=chosen, theme=theme()), on_pick=pick_head)


def show_head(compared: Comparison, chosen: tuple[int, int], names: tuple[str, str]) -> None:
    """Draw the chosen head on both sides, and what has changed."""
    hint = "Point at a cell, or press Tab and then the arrow keys."
    _matrices("matrices", matrices_record(three_matrices(compared, *chosen, names), theme(), hint))


def show_changes(compared: Comparison, chosen: tuple[int, int], names: tuple[str, str]) -> None:
    """List the links that changed most in the chosen head."""
    if changes := compared.changes(*chosen):
        _markup("changes", changes_table(changes, names, theme=theme()))


def tell_aligned_rows(compared: Comparison) -> None:
    """Say how many tokens are aligned, where some are not."""
    tokens = len(compared.after.queries)
    if len(compared.queries) < tokens:
        st.caption(f"Compared: the {len(compared.queries)} of {tokens} tokens that stand on both sides.")


def download_buttons(compared: Comparison, traces: tuple[AttentionTrace, AttentionTrace], chosen: tuple[int, int]) -> None:
    """Offer the picture as a drawing, and how far each head has changed as CSV."""
    with st.container(horizontal=True):
        drawing_buttons("compared", lambda: whatif_sheets.draw_comparison(compared, traces, *chosen))
        file_button("compared.csv", lambda: whatif_sheets.comparison_csv(compared))
