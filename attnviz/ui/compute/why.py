"""Why a head looked there: its score, taken apart over the tokens that were typed; folded until somebody asks."""

import streamlit as st

from attnviz.analysis.compute.score_pairs import BIASES, describe_pairs
from attnviz.analysis.wording import head_name
from attnviz.core.head_inputs import DotProduct
from attnviz.figures.compute.pairs import STYLE, pairs_table
from attnviz.models.head_inputs import InspectedTrace
from attnviz.ui.address.widgets import fold
from attnviz.ui.background.measures import why
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup

_pairs = Markup("pairs", STYLE)
_HOW = (
    "Everything below the head held fixed (attention weights, LayerNorm's σ, the ratios of activations), query and key are "
    f"sums over the tokens that were typed, and over what no token gives ({BIASES}; where a model writes, also what it has "
    "written). Their product is the sum over all pairs (as Modarressi et al. 2023 decompose a state)."
)


def why_there(model: str, inspected: InspectedTrace, kind: str, place: tuple[int, int], cell: tuple[int, int]) -> None:
    """The pairs of a cell's score; `place` is its layer and head, `cell` its query and key."""
    inside = inspected.head(kind, *place)
    if not isinstance(inside, DotProduct) or inside.softcap or inside.bias is not None or inspected.trace.edits:
        return
    folded = fold("Why did it look there?", "why", ":material/account_tree:")
    if not folded.open:
        return
    with folded:
        if (shares := why(model, inspected.trace.prompt, (kind, *place, *cell))) is None:
            return
        score = inside.scaling * float(inside.query[cell[0]].astype(float) @ inside.key[cell[1]].astype(float))
        if abs(shares.score - score) > 1e-3 * max(1.0, abs(score)):
            st.info("This translation was steered, and its scores are not taken apart: run it as the model writes it.")
            return
        story(describe_pairs(shares, head_name(*place)))
        _pairs("pairs", pairs_table(shares, theme=theme()))
        apart = abs(shares.score - score)
        st.caption(f":material/verified: All pairs add up to the score of these steps, to {apart:.0e}. {_HOW}")
