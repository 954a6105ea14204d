"""The arithmetic of edits: from a head's scores to the weights that it has under them.

Whoever runs a model says which edits its next passes have (`intervening`); every attention that knows its place asks for them
and has its output changed. That belongs to one thread and ends with the context: no module keeps anything.

A row that an edit leaves as it is keeps the output that the model computed itself, to the last bit.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnviz.core.edits import NO_EDITS, Edits, HeadPatched, HeadSet, LinkCut, WordHidden
from attnviz.core.errors import EditedRowError, EditError
from attnviz.core.weights import Kind

Rows = Float[Tensor, "batch query key"]
Past = Float[Tensor, "batch earlier key"]
# A number that is shown was computed once more, and rounded otherwise: what is as close as this to a weight is that weight.
ABSOLUTE, RELATIVE = 1e-6, 1e-5


@dataclass(eq=False)
class HeadEdits:
    """What is edited in one layer, by head."""

    zero: set[int] = field(default_factory=set)
    replaced: dict[int, HeadSet | HeadPatched] = field(default_factory=dict)
    cuts: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    hidden: list[int] = field(default_factory=list)
    weights: dict[int, list[tuple[int, int, float]]] = field(default_factory=dict)

    def computed(self, n_heads: int) -> Sequence[int]:
        """List the heads whose weights must be known: those at zero need none."""
        some = range(n_heads) if self.hidden else sorted({*self.replaced, *self.cuts, *self.weights})
        return [head for head in some if head not in self.zero]


def gathered(edits: Edits, sizes: Mapping[Kind, tuple[int, int]]) -> dict[tuple[Kind, int], HeadEdits]:
    """Gather edits by the kind and layer that they change, of so many layers and heads of each kind."""
    plan: defaultdict[tuple[Kind, int], HeadEdits] = defaultdict(HeadEdits)
    for edit in edits.each:
        if isinstance(edit, WordHidden):
            for layer in range(sizes[edit.kind][0]) if edit.layer is None else (edit.layer,):
                plan[edit.kind, layer].hidden.append(edit.key)
            continue
        here = plan[edit.kind, edit.layer]
        if isinstance(edit, HeadSet) and edit.to == "zero":
            here.zero.add(edit.head)
        elif isinstance(edit, HeadSet | HeadPatched):
            here.replaced[edit.head] = edit
        elif isinstance(edit, LinkCut):
            here.cuts.setdefault(edit.head, []).append((edit.query, edit.key))
        else:
            here.weights.setdefault(edit.head, []).append((edit.query, edit.key, edit.weight))
    return dict(plan)


@dataclass(frozen=True)
class RowContext:
    """Which rows of which head: the places, among the tokens of its map, of the first query and the first key.

    writes  the rows are those of a decoder that writes: there may be more of them than of another text
    alone   the map has no other keys than these
    sinks   how many keys at the end are no tokens
    """

    kind: Kind
    layer: int
    head: int
    first_query: int
    first_key: int
    writes: bool
    alone: bool
    sinks: int = 0

    @property
    def causal(self) -> bool:
        return self.kind == "decoder" or (self.kind == "cross" and self.writes)

    @property
    def name(self) -> str:
        return f"L{self.layer}·H{self.head}"


def softmax(scores: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch key"]:
    """Softmax in float32; a row of nothing but -inf is a row of zeros."""
    blind = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.float().masked_fill(blind, 0).softmax(dim=-1).masked_fill(blind, 0)


def edited_rows(
    plan: HeadEdits, place: RowContext, scores: Rows, past: Past, pattern: Float[np.ndarray, "row column"] | None
) -> Rows:
    """Compute the weights of a head under the edits of its layer.

    `past` are its weights without edits, and before them those of earlier steps of the pass; `pattern` is what it is patched
    with.

    Raises:
        EditError: a row would have nothing left to look at, or a weight is set where attention is masked.
    """
    weights, scores = past[:, -scores.shape[1] :], scores.float()
    if place.head in plan.replaced:
        edit = plan.replaced[place.head]
        if pattern is not None:
            rows = _patched(place, weights, pattern)
        else:
            rows = (
                _mean(place, scores, past)
                if edit == HeadSet(place.kind, place.layer, place.head, "mean")
                else _uniform(place, scores)
            )
        # A row that is replaced by what it is stays as it is.
        same = _near(rows, weights).all(dim=-1, keepdim=True)
        scores = torch.where(same, scores, rows.log())
        weights = torch.where(same, weights, rows)
    if plan.hidden or place.head in plan.cuts:
        weights, scores = _cut(plan, place, weights, scores)
    return _set(plan, place, weights, scores) if place.head in plan.weights else weights


def _near(one: Tensor, other: Tensor) -> Bool[Tensor, "*batch"]:
    return (one - other).abs() <= ABSOLUTE + RELATIVE * other


def _uniform(place: RowContext, scores: Rows) -> Rows:
    visible = (scores > -torch.inf).float()
    visible[..., scores.shape[2] - place.sinks :] = 0
    return visible / visible.sum(dim=-1, keepdim=True).clamp(min=1)


def _mean(place: RowContext, scores: Rows, past: Past) -> Rows:
    n_queries = scores.shape[1]
    if place.causal:
        counts = torch.arange(1, past.shape[1] + 1, device=past.device)[None, :, None]
        rows = (past.cumsum(dim=1) / counts)[:, -n_queries:]
    else:
        # In attention of a text to itself, a token that nobody may look at is padding: it asks nothing.
        asks = torch.ones_like(past[..., :1])
        if past.shape[1] == past.shape[2]:
            asks = (scores > -torch.inf).any(dim=1).float()[..., None]
        rows = ((past * asks).sum(dim=1, keepdim=True) / asks.sum(dim=1, keepdim=True).clamp(min=1)).expand_as(scores)
    seen = rows.masked_fill(scores == -torch.inf, 0)
    total = seen.sum(dim=-1, keepdim=True)
    return torch.where(total > 0, seen / total, _uniform(place, scores))


def _patched(place: RowContext, weights: Rows, pattern: Any) -> Rows:
    n_queries, n_keys = weights.shape[1:]
    queries, keys = (slice(first, first + n) for first, n in ((place.first_query, n_queries), (place.first_key, n_keys)))
    taken = torch.tensor(pattern, device=weights.device)[queries, keys]
    stepwise = place.causal and place.writes
    fits = place.kind == "decoder" if stepwise else taken.shape == (n_queries, n_keys)
    fits = fits or (stepwise and pattern.shape[1] == n_keys)
    if place.alone and not stepwise:
        fits = fits and pattern.shape == (n_queries, n_keys)
    if not fits or bool(((taken.sum(dim=1) - 1).abs() > 1e-3).any()):
        raise EditError(
            f"{place.name} cannot be patched from that text: its attention is over {pattern.shape[0]} by {pattern.shape[1]} "
            f"tokens, and here it is over {n_queries} by {n_keys}; choose a text of the same length."
        )
    rows = torch.zeros_like(weights)
    rows[:, : taken.shape[0], : taken.shape[1]] = taken
    rows[:, taken.shape[0] :] = weights[:, taken.shape[0] :]
    return rows


def _cells(place: RowContext, shape: Sequence[int], cells: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """List the cells that are among these rows and columns, counted from the first of them."""
    moved = [(query - place.first_query, key - place.first_key) for query, key in cells]
    return [(query, key) for query, key in moved if 0 <= query < shape[0] and 0 <= key < shape[1]]


def _cut(plan: HeadEdits, place: RowContext, weights: Rows, scores: Rows) -> tuple[Rows, Rows]:
    gone = torch.zeros(scores.shape[1:], dtype=torch.bool, device=scores.device)
    for query, key in _cells(place, gone.shape, plan.cuts.get(place.head, [])):
        gone[query, key] = True
    for key in plan.hidden:
        if 0 <= key - place.first_key < gone.shape[1]:
            gone[:, key - place.first_key] = True
    left = scores.masked_fill(gone, -torch.inf)
    blind = (left == -torch.inf).all(dim=-1) & (scores > -torch.inf).any(dim=-1)
    if bool(blind.any()):
        query = int(blind.any(dim=0).nonzero()[0]) + place.first_query
        raise EditedRowError(
            place.kind, f"In {place.name}, {{query}} would have nothing left to look at: leave it one key.", query
        )
    cut = (left != scores).any(dim=-1, keepdim=True)
    return torch.where(cut, softmax(left), weights), left


def _set(plan: HeadEdits, place: RowContext, weights: Rows, scores: Rows) -> Rows:
    given = {(query, key): weight for query, key, weight in plan.weights[place.head]}
    wanted = torch.full_like(weights, torch.nan)
    for query, key in _cells(place, weights.shape[1:], list(given)):
        wanted[:, query, key] = given[query + place.first_query, key + place.first_key]
    typed = ~wanted.isnan()
    masked = typed & (scores == -torch.inf) & (wanted > 0)
    if bool(masked.any()):
        query, key = masked.any(dim=0).nonzero()[0].tolist()
        sentence = f"In {place.name}, {{query}} cannot look at {{key}}: that is masked."
        raise EditedRowError(place.kind, sentence, query + place.first_query, key + place.first_key)
    others = softmax(scores.masked_fill(typed, -torch.inf))
    left = 1 - wanted.nansum(dim=-1, keepdim=True).clamp(max=1)
    rows = torch.where(typed, wanted, others * left)
    same = (_near(rows, weights) | ~typed).all(dim=-1, keepdim=True)
    lost = ~same & (others.sum(dim=-1, keepdim=True) == 0) & (left > 1e-6)
    if bool(lost.any()):
        query = int(lost.any(dim=0).nonzero()[0, 0]) + place.first_query
        sentence = f"In {place.name}, {{query}} has no other key to take the rest of its weight: let its weights sum to 1."
        raise EditedRowError(place.kind, sentence, query)
    return torch.where(same, weights, rows)


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
        """Compute what a head gives with these weights."""
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
        """Return the weights of a head that is at zero."""
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
        """Return the weights of a head as they are, and as they are edited."""
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
    """Return the intervention in the passes of this thread, if there is one."""
    return _running.get()


def current() -> Edits:
    """Return the edits of the text that is being read: of a batch, of its first row."""
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
