"""Running a model with edits: which of its attentions can be edited, and what its heads are patched with."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from attnviz.core.arrays import EditedHeads, Kind
from attnviz.core.edits import Edits, HeadPatched
from attnviz.core.errors import EditError
from attnviz.core.query_key import QueryKeyLayer
from attnviz.core.trace import Prompt
from attnviz.models.base import AttentionModel
from attnviz.nn.attention import Attended
from attnviz.nn.edit import edited_pass
from attnviz.nn.edit.edited_pass import Intervention, Patterns, intervening


@dataclass(frozen=True)
class EditPoints:
    """Where a model's attention can be edited.

    sizes   layers and heads of each kind
    places  the kind of each attention of our own modules, by the id of the module
    stack   the kind of what calls the attention function of Hugging Face models and has no place
    writes  whether it has a decoder that writes freely
    numbers  of a kind in which not every layer attends, the numbers of those that do
    """

    sizes: Mapping[Kind, tuple[int, int]]
    places: Mapping[int, Kind] = field(default_factory=dict)
    stack: Kind = "encoder"
    writes: bool = False
    numbers: Mapping[Kind, Sequence[int]] = field(default_factory=dict)

    def layers(self, kind: Kind) -> Sequence[int]:
        """Number the layers that attend."""
        return self.numbers.get(kind) or range(self.sizes[kind][0])

    def check(self, edits: Edits, name: str) -> None:
        """Check that the model of that name has what is edited.

        Raises:
            EditError: it has not; the message says what it has.
        """
        edits.check_heads(self.sizes, name)
        for edit in edits.each:
            if edit.layer is not None and edit.layer not in (some := self.layers(edit.kind)):
                raise EditError(
                    f"Layer {edit.layer} of {name} mixes tokens without attention, so nothing is edited there: choose "
                    f"{', '.join(map(str, some[:-1]))}{' or ' * (len(some) > 1)}{some[-1]}."
                )


@runtime_checkable
class EditableModel(AttentionModel, Protocol):
    """A model that says where its attention can be edited."""

    def edit_points(self) -> EditPoints:
        """Say which attentions there are.

        Raises:
            EditError: the model computes its attention where nothing can be changed.
        """
        ...


@contextmanager
def edited(model: EditableModel, prompt: Prompt, edits: Edits, *, writes: bool = False) -> Iterator[None]:
    """Within this context, and in this thread alone, every pass of the model over the prompt has these edits; none: as before.

    `writes`: the model writes on from the prompt, so that its text may be longer than another that heads are patched from.

    Raises:
        EditError: the model does not have what is edited, or cannot be edited.
    """
    if not edits:
        yield
        return
    points = model.edit_points()
    points = replace(points, writes=points.writes or writes)
    points.check(edits, model.card.name)
    with intervening(intervention(model, points, (edits,), _patterns(model, prompt, edits))):
        yield


def intervention(
    model: EditableModel, points: EditPoints, rows: Sequence[Edits], patterns: Patterns | None = None
) -> Intervention:
    """Prepare passes with the edits of each row of a batch; of one, those of all rows."""
    for edits in rows:
        points.check(edits, model.card.name)
    return Intervention(
        tuple(rows), points.sizes, points.places, points.stack, points.writes, patterns or {}, numbers=points.numbers
    )


def _patterns(model: EditableModel, prompt: Prompt, edits: Edits) -> Patterns:
    """Read the other texts that heads are patched from; a pair, a question and a target stay as they are."""
    traces = {text: model.trace(replace(prompt, text=text)) for text in edits.texts}
    return {
        (edit.kind, edit.layer, edit.head, edit.text): traces[edit.text].map(edit.kind).weights(edit.layer, edit.head)
        for edit in edits.each
        if isinstance(edit, HeadPatched)
    }


def with_edited_heads(kind: Kind, layers: Sequence[QueryKeyLayer], first: int = 0) -> tuple[QueryKeyLayer, ...]:
    """Lay the weights that edits gave to heads in the last pass over layers of it; `first` is the number of the first one."""
    now = edited_pass.running()
    if now is None:
        return tuple(layers)
    changes = [now.changed.get((kind, first + number)) for number in range(len(layers))]
    return tuple(
        layer if changed is None else replace(layer, edited=EditedHeads(changed[0], changed[1][0].float().cpu().numpy()))
        for layer, changed in zip(layers, changes, strict=True)
    )


def own_layers(kind: Kind, attended: Sequence[Attended], first: int) -> tuple[QueryKeyLayer, ...]:
    """Compute what a trace keeps of our own modules' attention: of the first text of a batch, without a mask, with edits."""
    layers = []
    for read in attended:
        attention: Any = read.attention
        known = attention.project(read.memory)
        query, key, value = (each[0].cpu().numpy() for each in (attention.queries(read.states), known.key, known.value))
        layers.append(QueryKeyLayer(query, key, scaling=attention.scaling, value=value))
    return with_edited_heads(kind, layers, first)


def check_windows(n_windows: int) -> None:
    """Refuse edits of places in a text that is read in several windows, where a place is not one token.

    Raises:
        EditError: there are such edits.
    """
    if n_windows > 1 and edited_pass.current().by_position:
        raise EditError(
            f"This passage is read in {n_windows} windows, and links, words and weights are edited in one: paste a shorter "
            "passage, or switch whole heads off."
        )
