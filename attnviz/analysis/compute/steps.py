"""A computation as numbers: what a browser words and lays out as steps, and what an address has to know of them.

A worked example stands here, one weight of a real model in `dot_product.py`; `attnviz/figures/compute/worded_steps.js` makes
the steps of either.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import Part, Sentence, signed
from attnviz.core.head_inputs import Computed, Tables
from attnviz.core.trace import Token
from attnviz.core.weights import masked_softmax

Cell = tuple[int, int]
# What stands below the steps.
ROUNDED = "Digits are rounded so that what is shown adds up; the exact value is on hover."


@dataclass(frozen=True)
class StepPlace:
    """What an address has to know of a step: its symbol, the shape of its result, and the cell that is looked at first."""

    symbol: str
    shape: tuple[int, int]
    start: Cell = (0, 0)

    def has(self, cell: Sequence[int]) -> bool:
        """Tell whether its result has a cell."""
        return all(0 <= index < size for index, size in zip(cell, self.shape, strict=True))


@dataclass(frozen=True)
class Computation:
    """A computation in plain values.

    known  the numbers up to the weights, with the `kind` of computation
    mixed  the weights, and all numbers that are computed from them
    """

    places: tuple[StepPlace, ...]
    known: dict[str, Any]
    mixed: dict[str, Any]

    @property
    def weights_step(self) -> int:
        return next(index for index, place in enumerate(self.places) if place.symbol == "softmax")


def first_place(places: Sequence[StepPlace], symbol: str = "", cell: Cell | None = None) -> tuple[int, int, int]:
    """Choose the step, the row and the column to open with: the step of a symbol, else the first; its cell, where it has it."""
    at = next((index for index, each in enumerate(places) if each.symbol == symbol), 0)
    return (at, *(cell if cell is not None and places[at].has(cell) else places[at].start))


def worked_steps(tables: Tables, computed: Computed, head: int, columns: tuple[str, ...] = ()) -> Computation:
    """Collect the numbers of all steps, between scores and context of one head; `columns` says what those of X stand for.

    Raises:
        IndexError: there is no such head.
    """
    (n, dim), visible = tables.x.shape, tables.visible
    focus = _focus(computed.weights[head], visible)
    places = [
        *(StepPlace(symbol, (n, dim)) for symbol in ("X", "Q", "K", "V")),
        StepPlace("QKᵀ", (n, n), focus),
        *([StepPlace("÷√d", (n, n), focus)] if tables.scaled else []),
        *([] if visible.all() else [StepPlace("mask", (n, n), _largest_cell(~visible))]),
        StepPlace("softmax", (n, n), focus),
        StepPlace("·V", (n, tables.head_dim)),
        *([StepPlace("concat", (n, dim))] if tables.n_heads > 1 else []),
        StepPlace("W_O", (n, dim)),
    ]
    scores = computed.scores[head].astype(np.float64)
    divided, undivided = (masked_softmax(scores * factor, visible) for factor in (tables.head_dim**-0.5, 1.0))
    known = {
        "kind": "worked", "tokens": tables.tokens, "columns": columns, "heads": tables.n_heads, "head": head,
        "divides": tables.scaled, "focus": focus, "visible": visible,
        "x": tables.x, "wQ": tables.w_q, "wK": tables.w_k, "wV": tables.w_v,
        "q": computed.query, "k": computed.key, "v": computed.value, "scores": scores, "scaled": computed.scaled[head],
    }  # fmt: skip
    mixed = {
        "weights": computed.weights[head], "divided": divided, "undivided": undivided, "contexts": computed.context,
        "concatenated": computed.concatenated, "wO": tables.w_o, "output": computed.output,
    }  # fmt: skip
    return Computation(tuple(places), as_lists(known), as_lists(mixed))


def as_lists(value: Any) -> Any:
    """Make arrays and tuples lists, as JSON has them; a number that is not finite is None.

    >>> as_lists({"row": np.array([1.5, np.nan]), "kept": [(1, 2)]})
    {'row': [1.5, None], 'kept': [[1, 2]]}
    """
    if isinstance(value, np.ndarray):
        return [as_lists(each) for each in value.tolist()]
    if isinstance(value, dict):
        return {name: as_lists(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_lists(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _focus(weights: Float[np.ndarray, "token token"], visible: np.ndarray) -> Cell:
    """Find the largest weight of a query that has a choice."""
    choices = visible.sum(axis=1)
    return _largest_cell(weights * (choices > 1)[:, None] if choices.max() > 1 else weights)


def _largest_cell(values: Float[np.ndarray, "row column"] | np.ndarray) -> Cell:
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return int(row), int(column)


# What no token gives.
BIASES = "positions and biases"


@dataclass(frozen=True, eq=False)
class PairShares:
    """Row a and column b have what token a gave the query times what token b gave the key.

    The last row and the last column are what biases and positions give. All of `values` sums to `score`.
    """

    tokens: tuple[Token, ...]
    values: Float[np.ndarray, "giver_of_query giver_of_key"]
    score: float

    @property
    def givers(self) -> tuple[str, ...]:
        """Name each row and column."""
        return (*(token.text for token in self.tokens), BIASES)

    def largest(self, most: int = 8) -> list["Pair"]:
        """Return the pairs that count most, for or against, the largest first."""
        order = np.argsort(-np.abs(self.values), axis=None, kind="stable")[:most]
        rows, columns = np.unravel_index(order, self.values.shape)
        return [Pair(int(row), int(column), float(self.values[row, column])) for row, column in zip(rows, columns, strict=True)]

    def sides(self) -> tuple[Float[np.ndarray, " giver"], Float[np.ndarray, " giver"]]:
        """Compute what each giver adds to the score by way of the query, and by way of the key; each sums to the score."""
        return self.values.sum(axis=1), self.values.sum(axis=0)


@dataclass(frozen=True)
class Pair:
    """One pair: places among `PairShares.givers`, and what it adds to the score."""

    query_giver: int
    key_giver: int
    share: float


def rest_of(shares: PairShares, pairs: Sequence[Pair]) -> float:
    """Compute what all other pairs add to the score."""
    return shares.score - sum(pair.share for pair in pairs)


def describe_pairs(shares: PairShares, name: str) -> Sentence:
    """Say which token contributes most by way of the query, and which by way of the key."""
    of_query, of_key = (int(np.argmax(side[:-1])) for side in shares.sides())
    most = max(shares.largest(most=shares.values.size), key=lambda pair: pair.share)
    givers = shares.givers
    return (
        Part(f"{name} scores {signed(shares.score, '+.2f')} here. Of all tokens "), _named(givers[of_query]),
        Part(" contributes most by way of the query, "), _named(givers[of_key]),
        Part(" by way of the key; the largest pair is "), _named(givers[most.query_giver]), Part(" × "),
        _named(givers[most.key_giver]), Part(f" ({signed(most.share, '+.2f')})."),
    )  # fmt: skip


def _named(giver: str) -> Part:
    return Part(giver, strong=True, quoted=giver != BIASES)
