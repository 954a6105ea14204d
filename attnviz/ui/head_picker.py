"""Which head is drawn of models that have several, which of its two readings, and what one of its numbers is."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.translation_alignment import Reading
from attnviz.analysis.wording import TITLES, describe_mixing, head_name, head_of_model
from attnviz.core.trace import AttentionMap
from attnviz.core.weights import QUANTITIES, Kind, Quantity
from attnviz.models.base import ModelCard
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import forget_cell, publish, restore, value
from attnviz.ui.address.widgets import dropdown, pin, segments
from attnviz.ui.background.results import in_quantity
from attnviz.ui.frame.sidebar import head_steppers
from attnviz.ui.markup import escaped

_MEANING = {
    "norms": "Each number is ‖α·f(x)‖, a weight times the length of the vector that it carries, f(x) = x W_V W_O, as a share "
    "of its row (Kobayashi et al. 2020).",
    "mixing": "Each number is the length of what one token gives to another in the whole layer, all heads, residual connection "
    "and LayerNorm counted, as a share of its row (Kobayashi et al. 2021). Between two texts the residual is not in the row.",
}
_HELP = "How much a head looks, or how much it moves: a large weight on a short vector moves little."


def quantity_picker(results: Iterable[Result], sidebar: DeltaGenerator) -> Quantity:
    """Offer the quantities of the maps; weights only, where no other is known: something is edited, or comes out of a file."""
    if any(each.before or each.file for each in results):
        publish("weighing", "weights", "weights")
        return "weights"
    return dropdown(sidebar, "Numbers", "weighing", options=QUANTITIES, format_func=TITLES.__getitem__, help=_HELP)


def in_chosen_quantity(results: Mapping[int, Result], sidebar: DeltaGenerator) -> dict[int, Result]:
    """Return the results with the quantity that is chosen in the sidebar; with weights, where no other is known."""
    quantity = quantity_picker(results.values(), sidebar)
    return {slot: in_quantity(each, quantity) for slot, each in results.items()}


def heads_are_mixed(results: Iterable[Result]) -> bool:
    """Say whether the chosen quantity is of whole layers, so that no head can be chosen."""
    return value("weighing", "weights") == "mixing" and not any(each.trace.edits for each in results)


def explain_quantity(result: Result, kind: Kind, layer: int) -> bool:
    """Explain what the numbers are, and how much the layer changes a token; False where they are weights."""
    if result.quantity == "weights":
        return False
    st.markdown(f"**{escaped(describe_mixing(result.mixing, kind, layer))}** {_MEANING[result.quantity]}")
    return True


_MEAN = "all_heads"
_READINGS: dict[str, Reading | None] = {"Truer": None, "Shifted": "shifted", "Naive": "naive"}
_READING_HELP = (
    "A step of a Transformer's decoder reads one word and writes the next, so a word has two rows. Shifted takes the step that "
    "reads it, when it is known (Chen et al. 2020); naive takes the step that writes it. Truer is the one whose links were "
    "measured to be nearer to an aligner's, head by head; naive where nothing was measured. Heads are ranked by the step that "
    "writes the word, unless you choose Shifted."
)


def head_picker(
    maps: Sequence[AttentionMap],
    sidebar: DeltaGenerator,
    supervised_head: tuple[int, int] | None = None,
    first: tuple[int, int] | None = None,
    *,
    pinned: bool = False,
    mixed: bool = False,
) -> tuple[int, int | None]:
    """Layer, and head or None for their mean, where a map has several; where heads are `mixed` only the layer can be chosen.

    Unasked, it is the `first` one, if there is one, else the supervised head, else the mean of the last layer. `pinned`: a
    person chose it, and it stays in the address, whichever it is.
    """
    n_layers, n_heads = max(each.n_layers for each in maps), max(each.n_heads for each in maps)
    if n_layers == n_heads == 1:
        return 0, None
    unasked = first or supervised_head
    begins = (*unasked, False) if unasked else (n_layers - 1, 0, True)
    if not pinned:
        _follow(begins)
    restore(_MEAN, begins[2])
    mean = bool(st.session_state[_MEAN])
    layer, head = head_steppers(sidebar, begins[:2], (n_layers, n_heads), disabled=mean or mixed)
    if supervised_head and (layer, None if mean else head) != supervised_head:
        _supervised_head_button(supervised_head, sidebar)
    sidebar.toggle("Mean over heads", key=_MEAN, disabled=mixed, on_change=pin)
    publish(_MEAN, mean, begins[2])
    if pinned and (layer, head, mean) == begins:
        for name, chosen in ((_MEAN, mean),) if mean else (("layer", layer), ("head", head)):
            publish(name, chosen, None)
    return layer, None if mean else head


def reading_picker(results: Iterable[Result], sidebar: DeltaGenerator) -> Reading | None:
    """Ask which of a word's two rows is its own, where a model has two; None: the truer one of each head."""
    if not any(each.draft.reads_its_rows for each in results):
        return None
    return _READINGS[segments(sidebar, "Row of a word", "reading", help=_READING_HELP, on_change=forget_cell)]


def head_title_of(card: ModelCard, layer: int, head: int | None) -> str:
    """Name the head that is drawn of a model, marked if it was trained to align; nothing for a model of one.

    >>> card = ModelCard("t", "", "encoder-decoder", 2, 4, 1, 128, "cpu", supervised_head=(1, 0))
    >>> head_title_of(card, 1, 0), head_title_of(card, 1, 2), head_title_of(card, 0, None)
    ('L1·H0, trained to align', 'L1·H2', 'L0, mean of 4 heads')
    """
    shape, trained = (card.n_layers, card.n_heads), (layer, head) == card.supervised_head
    return head_of_model(layer, head, shape, trained=trained)


def pick_head(picked: str) -> None:
    """Chooses the head of a cell that was clicked, "layer.head" or "kind.layer.head"; for a callback.

    A browser may send anything: what names no head changes nothing.
    """
    if match := re.fullmatch(r"(?:([a-z]+)\.)?(\d{1,4})\.(\d{1,4})", picked):
        kind, layer, head = match.groups()
        st.session_state.update(layer=int(layer), head=int(head), **({"attention": kind} if kind else {}))


def clicked_head(heads: Collection[tuple[Any, ...]], names: tuple[str, ...] = ("layer", "head")) -> tuple[Any, ...] | None:
    """Return the head that was clicked, or that the address names; None where it names none of `heads`."""
    place = tuple(value(name) for name in names)
    if None in place:
        return None
    for name, chosen in zip(names, place, strict=True):
        publish(name, chosen, None)
    return place if place in heads else None


def choose_head(layer: int, head: int | None) -> None:
    """Makes a head, or with None the mean of its layer, the one that is drawn, with its own strongest link; for a callback."""
    change_head(layer, head)
    forget_cell()


def change_head(layer: int, head: int | None) -> None:
    """Choose a head in the same way, but keep the link that is looked at; for a callback."""
    st.session_state.update({"layer": layer, "head": head or 0, _MEAN: head is None})
    pin()


def _supervised_head_button(supervised_head: tuple[int, int], sidebar: DeltaGenerator) -> None:
    """Draw the button that opens the supervised head."""
    sidebar.button(
        f"Show {head_name(*supervised_head)}, trained to align",
        key="supervised_head",
        icon=":material/school:",
        on_click=choose_head,
        args=supervised_head,
        width="stretch",
        help="The one head that was taught where to look, by a statistical aligner's links (Garg et al. 2019).",
    )


def _follow(first: tuple[int, int, bool]) -> None:
    """Reset an untouched head choice to the new model's default."""
    state = st.session_state
    names = ("layer", "head", _MEAN)
    if tuple(state.get(name) for name in names) == state.get("first_head") != first:
        state.update(zip(names, first, strict=True))
    state.first_head = first
