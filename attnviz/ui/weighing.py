"""The switch between a head's weights and what they move, and what the page says of it."""

from dataclasses import dataclass, replace

import streamlit as st

from attnviz.analysis.weighing import NUMBERS, TITLES, WEIGHINGS, WeighedTrace, Weighing
from attnviz.analysis.wording import head_name
from attnviz.core.trace import AttentionMap
from attnviz.export.python import prompt_expression
from attnviz.ui.address.state import publish
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.background.measures import weighed
from attnviz.ui.background.results import Traced
from attnviz.ui.download import Kept
from attnviz.ui.layout import escaped

_MEANING = {
    "norms": "Each number is ‖α·f(x)‖, a weight times the length of the vector that it carries, f(x) = x W_V W_O, as a share "
    "of its row (Kobayashi et al. 2020).",
    "mixing": "Each number is the length of what one token gives to another in the whole layer, all heads, residual connection "
    "and LayerNorm counted, as a share of its row (Kobayashi et al. 2021). Between two texts the residual is not in the row.",
}
_HELP = "How much a head looks, or how much it moves: a large weight on a short vector moves little."


@dataclass(frozen=True)
class Weighed(Traced):
    """A trace whose numbers may be others than weights: `name` is what the model is called here."""

    name: str = ""
    by: Weighing = "weights"
    changes: WeighedTrace | None = None

    @property
    def number(self) -> str:
        """What one of its numbers is, in a sentence."""
        return NUMBERS[self.by]

    def named(self, layer: int, head: int | None) -> str:
        """What a head of it is called; where heads are mixed, the layer."""
        return f"Layer {layer}" if self.by == "mixing" else head_name(layer, head)


def weigh(name: str, traced: Traced) -> Weighed:
    """The trace with the numbers that are chosen in the sidebar; its weights, where no others are known."""
    plain = Weighed(traced.trace, traced.card, traced.seconds, traced.file, name)
    if traced.file or traced.trace.edits:
        # Out of a file no model can be asked; what is edited would have to be edited again.
        publish("weighing", "weights", "weights")
        return plain
    by: Weighing = dropdown(st.sidebar, "Numbers", "weighing", options=WEIGHINGS, format_func=TITLES.__getitem__, help=_HELP)
    return as_in(replace(plain, by=by), traced)


def as_in(shown: Traced, traced: Traced) -> Weighed:
    """Another trace of the same model with the numbers that `shown` has."""
    by = shown.by if isinstance(shown, Weighed) else "weights"
    name = shown.name if isinstance(shown, Weighed) else ""
    plain = Weighed(traced.trace, traced.card, traced.seconds, traced.file, name)
    if by == "weights" or (weighed_trace := weighed(name, traced.trace.prompt, by)) is None:
        return plain
    return replace(plain, trace=weighed_trace.trace, by=by, changes=weighed_trace)


def tell_weighing(shown: Weighed, attention: AttentionMap, layer: int) -> bool:
    """What the numbers are, and how much the layer changes a token; False where they are weights."""
    if shown.changes is None:
        return False
    st.markdown(f"**{escaped(shown.changes.sentence(attention.kind, layer))}** {_MEANING[shown.by]}")
    return True


def in_python(kept: Kept, shown: Weighed) -> Kept:
    """What can be taken along, made in Python with the same numbers."""
    if shown.by == "weights":
        return kept
    prompt = prompt_expression(shown.trace.prompt)
    return replace(
        kept,
        made=f"weighed_trace(av.load({shown.name!r}), {prompt}, {shown.by!r}).trace",
        imports=(*kept.imports, "from attnviz.attribution.weighing import weighed_trace"),
    )
