"""The arithmetic of edits: from a head's scores to the weights that it has under them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnviz.core.arrays import Kind
from attnviz.core.edits import Edits, HeadPatched, HeadSet, LinkCut, WordHidden
from attnviz.core.errors import EditedRowError, EditError

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
        """The heads whose weights must be known: those at zero need none."""
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
    """The weights of a head under the edits of its layer.

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
    """The cells that are among these rows and columns, counted from the first of them."""
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
