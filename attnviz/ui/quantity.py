"""The switch between a head's weights and what they move, and what the page says of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.quantity import NUMBERS, TITLES, WEIGHINGS, WeighedTrace, Weighing
from attnviz.analysis.wording import head_name
from attnviz.core.arrays import Kind
from attnviz.export.python import prompt_expression
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.address.state import publish, value
from attnviz.ui.address.widgets import dropdown
from attnviz.ui.background.measures import weighed, weighed_draft
from attnviz.ui.background.results import Answered, Drafted, Traced
from attnviz.ui.download import DRAFTED, READ_AS, Kept, drafted_in_python
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
        return self.changes.named(layer, head) if self.changes else head_name(layer, head)


def weigh(name: str, traced: Traced, sidebar: DeltaGenerator | None = None) -> Weighed:
    """The trace with the numbers that are chosen in the sidebar; its weights, where no others are known."""
    plain = Weighed(traced.trace, traced.card, traced.seconds, traced.file, name)
    # Out of a file no model can be asked.
    by = numbers_picker(sidebar or st.sidebar, known=not (traced.file or traced.trace.edits))
    return as_in(replace(plain, by=by), traced)


def numbers_picker(sidebar: DeltaGenerator, *, known: bool = True) -> Weighing:
    """What the numbers of the maps are; weights, where no others can be `known`: what is edited would be edited again."""
    if not known:
        publish("weighing", "weights", "weights")
        return "weights"
    return dropdown(sidebar, "Numbers", "weighing", options=WEIGHINGS, format_func=TITLES.__getitem__, help=_HELP)


def heads_are_mixed(shown: Sequence[Drafted | Answered]) -> bool:
    """Whether the numbers that are chosen are of whole layers, so that no head can be."""
    return value("weighing", "weights") == "mixing" and not any(each.trace.edits for each in shown)


def weigh_answer(name: str, answered: Answered, by: Weighing) -> Answered:
    """The answer with these numbers in its maps; with its weights, where no others are known."""
    if by == "weights" or (reweighed := weighed(name, answered.trace.prompt, by)) is None:
        return answered
    return replace(answered, answers=replace(answered.answers, trace=reweighed.trace), weighed=reweighed)


def weigh_draft(name: str, drafted: Drafted, by: Weighing) -> Drafted:
    """The translation with these numbers in its maps; with its weights, where no others are known."""
    if by == "weights" or (reweighed := weighed_draft(name, drafted.draft, by)) is None:
        return drafted
    return replace(drafted, draft=replace(drafted.draft, trace=reweighed.trace), weighed=reweighed)


def number_of(shown: Drafted | Answered) -> str:
    """What one number of its maps is."""
    return NUMBERS[shown.weighed.by if shown.weighed else "weights"]


def as_in(shown: Traced, traced: Traced) -> Weighed:
    """Another trace of the same model with the numbers that `shown` has."""
    by = shown.by if isinstance(shown, Weighed) else "weights"
    name = shown.name if isinstance(shown, Weighed) else ""
    plain = Weighed(traced.trace, traced.card, traced.seconds, traced.file, name)
    if by == "weights" or (weighed_trace := weighed(name, traced.trace.prompt, by)) is None:
        return plain
    return replace(plain, trace=weighed_trace.trace, by=by, changes=weighed_trace)


def tell_weighing(weighing: WeighedTrace | None, kind: Kind, layer: int) -> bool:
    """What the numbers are, and how much the layer changes a token; False where they are weights."""
    if weighing is None:
        return False
    st.markdown(f"**{escaped(weighing.sentence(kind, layer))}** {_MEANING[weighing.by]}")
    return True


def in_python(kept: Kept, name: str, weighing: WeighedTrace | None) -> Kept:
    """What can be taken along of the model of that name, made in Python with the same numbers."""
    if weighing is None:
        return kept
    prompt = prompt_expression(weighing.trace.prompt)
    return replace(
        kept,
        made=f"weighed_trace(av.load({name!r}), {prompt}, {weighing.by!r}).trace",
        imports=(*kept.imports, "from attnviz.attribution.quantity import weighed_trace"),
    )


def draft_in_python(kept: Kept, name: str, drafted: Drafted, options: DecodingOptions, *, naive: bool) -> Kept:
    """The same of a translation that was decoded so; `naive` rows are named after the token that is written there."""
    if drafted.weighed is None:
        return kept
    attention = f"weighed_draft(av.load({name!r}), result, {drafted.weighed.by!r}).trace.cross"
    imports = (DRAFTED, "from attnviz.attribution.quantity import weighed_draft")
    if naive:
        attention, imports = f"read_as({attention}, result.written, 'naive')", (READ_AS, *imports)
    made = drafted_in_python(name, drafted.trace.prompt, options)
    return replace(kept, made=made, imports=imports, attention=attention)
