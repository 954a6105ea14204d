"""The switch between a head's weights and what they move, and what the page says of it."""

from collections.abc import Iterable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.wording import TITLES, describe_mixing
from attnviz.core.arrays import Kind
from attnviz.core.quantity import QUANTITIES, Quantity
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import publish, value
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.background.results import in_quantity
from attnviz.ui.escape_markdown import escaped

_MEANING = {
    "norms": "Each number is ‖α·f(x)‖, a weight times the length of the vector that it carries, f(x) = x W_V W_O, as a share "
    "of its row (Kobayashi et al. 2020).",
    "mixing": "Each number is the length of what one token gives to another in the whole layer, all heads, residual connection "
    "and LayerNorm counted, as a share of its row (Kobayashi et al. 2021). Between two texts the residual is not in the row.",
}
_HELP = "How much a head looks, or how much it moves: a large weight on a short vector moves little."


def quantity_picker(results: Iterable[Result], sidebar: DeltaGenerator) -> Quantity:
    """The quantity of the maps; weights, where no other can be known: something is edited, or comes out of a file."""
    if any(each.before or each.file for each in results):
        publish("weighing", "weights", "weights")
        return "weights"
    return dropdown(sidebar, "Numbers", "weighing", options=QUANTITIES, format_func=TITLES.__getitem__, help=_HELP)


def in_chosen_quantity(results: Mapping[int, Result], sidebar: DeltaGenerator) -> dict[int, Result]:
    """The results with the quantity that is chosen in the sidebar; with weights, where no other is known."""
    quantity = quantity_picker(results.values(), sidebar)
    return {slot: in_quantity(each, quantity) for slot, each in results.items()}


def heads_are_mixed(results: Iterable[Result]) -> bool:
    """Whether the quantity that is chosen is of whole layers, so that no head can be."""
    return value("weighing", "weights") == "mixing" and not any(each.trace.edits for each in results)


def explain_quantity(result: Result, kind: Kind, layer: int) -> bool:
    """What the numbers are, and how much the layer changes a token; False where they are weights."""
    if result.quantity == "weights":
        return False
    st.markdown(f"**{escaped(describe_mixing(result.mixing, kind, layer))}** {_MEANING[result.quantity]}")
    return True
