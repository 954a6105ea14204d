"""Edits where attention is computed: one pass over a text whose weights are changed, and nothing else.

Whoever runs a model says which edits its next passes have (`intervening`); every attention that knows its place asks for them
and has its output changed. That belongs to one thread and ends with the context: no module keeps anything.

A row that an edit leaves as it is keeps the output that the model computed itself, to the last bit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.core.arrays import Kind
from attnviz.core.edits import NO_EDITS, Edits, HeadPatched
from attnviz.nn.edit.edited_rows import HeadEdits, RowContext, edited_rows, gathered, softmax

# kind, layer, head and text -> the weights of that head over that text.
Patterns = Mapping[tuple[Kind, int, int, str], Float[np.ndarray, "query key"]]
Output = Float[Tensor, "batch head query dim"]
HeadWeights = Float[Tensor, "batch head query key"]


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """One call of an attention, as it was computed without edits.

    scores  gives, of some heads, the scores before the softmax, -inf where masked; a sink is one more key
    values  gives, of some heads, the values of the keys, without one for a sink; None: the output are the weights themselves
    weights  None where nobody asked for them
    start   the place in its text of the first query of this call; None: told by the keys, or by the attention before
    """

    output: Output
    scores: Callable[[Sequence[int]], HeadWeights]
    values: Callable[[Sequence[int]], Output] | None = None
    weights: HeadWeights | None = None
    start: int | None = None

    @property
    def n_keys(self) -> int:
        return self.output.shape[3] if self.values is None else self.values([0]).shape[2]

    def mixed(self, weights: Float[Tensor, "batch query key"], head: int, rows: slice) -> Float[Tensor, "batch query dim"]:
        """What a head gives with these weights."""
        if self.values is None:
            return weights
        value = self.values([head])[rows, 0]
        return weights[..., : value.shape[1]] @ value.float()


@dataclass(eq=False)
class _Layer:
    """What becomes of a layer's output, and of its weights where they are asked for."""

    output: Output
    weights: HeadWeights | None

    def put(self, rows: slice, head: int, moved: Tensor, output: Tensor, weights: Tensor) -> None:
        """Write the output and the weights of a head's queries that are `moved`; the others stay to the last bit."""
        self.output[rows, head] = torch.where(moved, output.to(self.output.dtype), self.output[rows, head])
        if self.weights is not None:
            self.weights[rows, head] = torch.where(moved, weights, self.weights[rows, head])

    def nothing(self, call: AttentionCall, head: int) -> Tensor:
        """The weights of a head that is at zero."""
        return torch.zeros_like(call.scores([head])[:, 0] if self.weights is None else self.weights[:, head])


@dataclass(eq=False)
class Intervention:
    """The edits of passes of one model, in one thread.

    rows      the edits of each row of the batch; of one, those of all rows
    sizes     layers and heads of each kind
    places    the kind of an attention by the id of its module; layers of a kind are called in their order
    stack     the kind of modules that `places` does not have, of Hugging Face models
    writes    cross-attention is that of a decoder, whose rows must not know of later ones
    patterns  what heads are patched with
    numbers   of a kind in which not every layer attends, the numbers of those that do
    shifts    where the texts that the encoder reads one after the other stand among the tokens of its map
    first     the layer at which passes begin: the attention below is not called
    changed   by kind and layer, the heads that the last pass changed and their weights, of the first row of the batch
    """

    rows: tuple[Edits, ...]
    sizes: Mapping[Kind, tuple[int, int]]
    places: Mapping[int, Kind]
    stack: Kind = "encoder"
    writes: bool = False
    patterns: Patterns = field(default_factory=dict)
    numbers: Mapping[Kind, Sequence[int]] = field(default_factory=dict)
    shifts: tuple[int, ...] = (0,)
    first: int = 0
    changed: dict[tuple[Kind, int], tuple[tuple[int, ...], HeadWeights]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._plans = [gathered(edits, self.sizes) for edits in self.rows]
        self._calls = {kind: sum(number < self.first for number in self._layers(kind)) for kind in self.sizes}
        self._written = 0
        self._past: Tensor | None = None

    def change(self, kind: Kind, call: AttentionCall) -> tuple[Output, HeadWeights | None]:
        """Change the output of the next layer of that kind, and its weights.

        Raises:
            EditError: a row would have nothing left to look at, or a weight is set where attention is masked.
        """
        numbers = self._layers(kind)
        n_pass, place = divmod(self._calls[kind], len(numbers))
        layer = numbers[place]
        self._calls[kind] += 1
        start = self._start(kind, call)
        self.changed.pop((kind, layer), None)
        plans = [(row, plan[kind, layer]) for row, plan in enumerate(self._plans) if (kind, layer) in plan]
        if not plans:
            return call.output, call.weights
        shift = self.shifts[n_pass % len(self.shifts)] if kind == "encoder" else 0
        first = RowContext(kind, layer, 0, start + shift, shift, self.writes, self.shifts == (0,))
        now = _Layer(call.output.clone(), None if call.weights is None else call.weights.clone())
        for row, plan in plans:
            rows = slice(None) if len(self.rows) == 1 else slice(row, row + 1)
            moved = self._change_heads(plan, rows, first, call, now)
            if row == 0 and (heads := {**moved, **{head: now.nothing(call, head) for head in plan.zero}}):
                self.changed[kind, layer] = tuple(heads), torch.stack([weights[:1] for weights in heads.values()], dim=1)
        return now.output, now.weights

    def _layers(self, kind: Kind) -> Sequence[int]:
        return self.numbers.get(kind) or range(self.sizes[kind][0])

    def _change_heads(
        self, plan: HeadEdits, rows: slice, place: RowContext, call: AttentionCall, now: "_Layer"
    ) -> dict[int, Tensor]:
        """Change the heads of some rows of a batch; return the weights of those that have others now, save of those at zero."""
        moved = {}
        for head in plan.computed(now.output.shape[1]):
            scores = call.scores([head])[rows, 0]
            here = replace(place, head=head, sinks=scores.shape[2] - call.n_keys)
            own, new = self._rows(plan, scores, here, call.start)
            if bool((other := (new != own).any(dim=-1, keepdim=True)).any()):
                moved[head] = new
                now.put(rows, head, other, call.mixed(new, head, rows), new)
        for head in plan.zero:
            now.output[rows, head] = 0
            if now.weights is not None:
                now.weights[rows, head] = 0
        return moved

    def _rows(self, plan: HeadEdits, scores: Tensor, place: RowContext, start: int | None) -> tuple[Tensor, Tensor]:
        """The weights of a head as they are, and as they are edited."""
        past = own = softmax(scores)
        replaced = plan.replaced.get(place.head)
        if start is not None:
            # A recurrent decoder asks step by step: the rows before this one are those of the same pass.
            past = torch.cat([self._past, own], dim=1) if start and self._past is not None else own
            self._past = past
        pattern = None
        if isinstance(replaced, HeadPatched):
            pattern = self.patterns[place.kind, place.layer, place.head, replaced.text]
        return own, edited_rows(plan, place, scores, past, pattern)

    def _start(self, kind: Kind, call: AttentionCall) -> int:
        if call.start is not None:
            return call.start
        if kind != "decoder":
            # Attention across stands where the self-attention before it does.
            return self._written if kind == "cross" else 0
        self._written = call.n_keys - call.output.shape[2]
        return self._written


_running: ContextVar[Intervention | None] = ContextVar("attnviz_intervention", default=None)


@contextmanager
def intervening(intervention: Intervention) -> Iterator[Intervention]:
    """Within this context, and in no other thread, attention is edited."""
    token = _running.set(intervention)
    try:
        yield intervention
    finally:
        _running.reset(token)


def running() -> Intervention | None:
    """What edits the passes of this thread, if anything does."""
    return _running.get()


def current() -> Edits:
    """The edits of the text that is being read: of a batch, of its first row."""
    now = _running.get()
    return now.rows[0] if now else NO_EDITS


def changed(module: object, call: AttentionCall) -> tuple[Output, HeadWeights | None]:
    """Edit a call of one of our own modules, where it has a place in what is edited."""
    now = _running.get()
    if now is None or (kind := now.places.get(id(module))) is None:
        return call.output, call.weights
    return now.change(kind, call)


def changed_one(
    module: object,
    computed: tuple[Float[Tensor, "batch query value_dim"], Float[Tensor, "batch query key"]],
    scores: Callable[[], Float[Tensor, "batch query key"]],
    value: Float[Tensor, "batch key value_dim"],
    start: int,
) -> tuple[Any, Any]:
    """Edit a call of an attention of one head: its context and its weights."""
    if _running.get() is None:
        return computed
    context, weights = computed
    call = AttentionCall(context[:, None], lambda _: scores()[:, None], lambda _: value[:, None], weights[:, None], start)
    new_context, new_weights = changed(module, call)
    return new_context[:, 0], weights if new_weights is None else new_weights[:, 0]
