"""A computation as numbers: what a browser words and lays out as steps, and what an address has to know of them.

A worked example comes first, then one weight of a real model, scaled or additive, from its vectors to the number in the
heatmap; `attnviz/figures/compute/worded_steps.js` makes the steps of either. A model's vectors have more numbers than a
projector has room for: of a long one the largest are shown, and how many others there are.

additive   Bahdanau, Cho & Bengio 2014, section 3.1 and appendix A.1.2: e_ij = vᵀ tanh(W s_{i-1} + U h_j)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_view import word_groups
from attnviz.analysis.wording import Part, Sentence, signed
from attnviz.core.head_inputs import Additive, Computed, DotProduct, Ingredients, Projected, Tables
from attnviz.core.trace import AttentionMap, Token
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


MOST_DIMS, MOST_KEYS = 6, 6
# So many of a token's numbers are written out, each beside its row of the matrix.
MOST_ROWS = 4


@dataclass(frozen=True)
class Excerpt:
    """Some positions of a long axis, in their order; the others are counted."""

    kept: tuple[int, ...]
    length: int

    @staticmethod
    def of(sizes: Float[np.ndarray, " position"], most: int, always: Sequence[int] = ()) -> "Excerpt":
        """Keep the `most` largest, those of `always` among them; all, where there are no more than two too many."""
        order = [int(index) for index in np.argsort(-np.abs(sizes), kind="stable")]
        if len(order) <= most + 2:
            return Excerpt(tuple(range(len(order))), len(order))
        order = [*dict.fromkeys([*always, *order])]
        return Excerpt(tuple(sorted(order[:most])), len(order))

    @property
    def rest(self) -> tuple[int, ...]:
        return tuple(sorted(set(range(self.length)) - set(self.kept)))

    @property
    def width(self) -> int:
        """Count the places on the page; the others share one."""
        return len(self.kept) + (self.length > len(self.kept))

    @property
    def axis(self) -> dict[str, Any]:
        return {"kept": list(self.kept), "length": self.length}

    def of_rows(self, row: dict[str, Any]) -> dict[str, Any]:
        """Take the shown ones of every array."""
        return {name: self.of_row(value) if isinstance(value, np.ndarray) else value for name, value in row.items()}

    def of_row(self, values: Float[np.ndarray, " position"]) -> Float[np.ndarray, " kept"]:
        """Take the shown ones of some values; where an axis is longer, as by a sink, the last have none."""
        return np.append(values.astype(np.float64), [np.nan] * (self.length - len(values)))[list(self.kept)]


@dataclass(frozen=True)
class QueryKey:
    """Which weight is explained: positions of the query and the key, and what the tokens of the map are called."""

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    query: int
    key: int

    @property
    def query_token(self) -> str:
        return self.queries[self.query]

    @property
    def key_token(self) -> str:
        return self.keys[self.key]


def product(left: Float[np.ndarray, " dim"], right: Float[np.ndarray, "dim column"], shown: Excerpt) -> dict[str, Any]:
    """Collect the factors of a row times each column that are shown, and what all other products add up to.

    >>> product(np.array([1.0, 2.0]), np.array([[3.0], [4.0]]), Excerpt((1,), 2))
    {'kept': [1], 'length': 2, 'left': [2.0], 'right': [[4.0]], 'beyond': [3.0]}
    """
    left, right, kept = left.astype(np.float64), right.astype(np.float64), list(shown.kept)
    beyond = (left[:, None] * right)[list(shown.rest)].sum(axis=0)
    return {**shown.axis, "left": left[kept].tolist(), "right": right[kept].tolist(), "beyond": beyond.tolist()}


def _dot(left: Float[np.ndarray, " dim"], right: Float[np.ndarray, " dim"]) -> dict[str, Any]:
    return product(left, right[:, None], Excerpt.of(left * right, MOST_DIMS))


def _project(projection: Projected, at: int, units: Excerpt) -> dict[str, Any]:
    """Collect x W + b for the token at position `at`, of the numbers that are shown."""
    states, kept = projection.states[at].astype(np.float64), list(units.kept)
    weight = projection.weight[kept].astype(np.float64)
    rows = Excerpt.of(np.abs(states * weight).sum(axis=0), MOST_ROWS)
    return {**product(states, weight.T, rows), "bias": projection.bias[kept].astype(np.float64).tolist()}


def unfold_dot_product(inside: DotProduct, pair: QueryKey, merged: dict[str, Any] | None = None) -> Computation:
    """Collect the numbers of one weight of scaled dot-product attention, Vaswani et al. 2017, equation 1.

    The last step is the context, where the values are known. `merged` has the weights of pieces that become one of two words.
    """
    query, key, made = inside.query[pair.query].astype(np.float64), inside.key.astype(np.float64), inside.made
    rows = _score_rows(inside, pair, key @ query)
    final = rows[-1]["values"]
    seen = None if inside.visible is None or inside.visible[pair.query].all() else inside.visible[pair.query]
    weights = masked_softmax(final, seen)
    keys = Excerpt.of(weights, MOST_KEYS, (pair.key,))
    known: dict[str, Any] = {
        "kind": "dot", "size": len(query), "scores": final, "visible": seen, "rows": [keys.of_rows(row) for row in rows],
        "dots": [_dot(query, key[at]) if at < len(key) else None for at in keys.kept],
    }  # fmt: skip
    places, ends, mixed = [], [], {}
    # A sink is a key without a vector.
    if pair.key < len(key):
        dims = Excerpt.of(query * key[pair.key], MOST_DIMS)
        known |= {"dims": dims.axis, "meets": _scored(query, key[pair.key], float(rows[0]["values"][pair.key]), dims)}
        if made:
            known |= {"q": _project(made.query, pair.query, dims), "k": _project(made.key, pair.key, dims)}
            places += [StepPlace("q", (1, dims.width)), StepPlace("k", (1, dims.width))]
        places.append(StepPlace("q·k", (1, 1)))
    if inside.value is not None:
        dims, mixed["context"] = _context(keys, weights, inside.value)
        ends = [StepPlace("·V", (1, dims.width))]
        if made:
            mixed["v"] = {**_project(made.value, pair.key, dims), "values": dims.of_row(inside.value[pair.key])}
            ends.insert(0, StepPlace("v", (1, dims.width)))
    symbols = [*(row["symbol"] for row in rows), *([] if seen is None else ["mask"])]
    return _computation(pair, (keys, weights), (places, known), symbols, (ends, mixed), merged)


def _score_rows(inside: DotProduct, pair: QueryKey, scores: Float[np.ndarray, " key"]) -> list[dict[str, Any]]:
    """Compute the rows that lead from the dot products to what goes into the softmax, each with what made it."""
    rows: list[dict[str, Any]] = [{"symbol": "q·K", "values": scores}]
    if inside.scaling != 1:
        scores = scores * inside.scaling
        own = None if np.isclose(inside.scaling, inside.query.shape[1] ** -0.5) else float(inside.scaling)
        rows.append({"symbol": "÷√d", "values": scores, "own": own})
    if inside.softcap is not None:
        scores = inside.softcap * np.tanh(scores / inside.softcap)
        rows.append({"symbol": "cap", "values": scores, "cap": float(inside.softcap)})
    if inside.bias is not None:
        scores = scores + inside.bias[pair.query]
        rows.append({"symbol": "+ bias", "values": scores, "bias": inside.bias[pair.query]})
    if inside.sink is not None:
        rows.append({"symbol": "sink", "values": np.append(scores, inside.sink)})
    return rows


def unfold_additive(inside: Additive, pair: QueryKey, merged: dict[str, Any] | None = None) -> Computation:
    """Collect the numbers of one weight of additive attention; the last step is the context."""
    state_units = inside.w.astype(np.float64) @ inside.states[pair.query].astype(np.float64) + inside.b
    annotation_units = inside.memory.astype(np.float64) @ inside.u.astype(np.float64).T
    activations, v = np.tanh(state_units + annotation_units), inside.v.astype(np.float64)
    energies = activations @ v
    weights = masked_softmax(energies, None)
    keys = Excerpt.of(weights, MOST_KEYS, (pair.key,))
    # The hidden units that decide this energy are shown throughout.
    units = Excerpt.of(activations[pair.key] * inside.v, MOST_DIMS)
    states, annotations = (
        Projected(inside.states, inside.w, inside.b),
        Projected(inside.memory, inside.u, np.zeros(len(inside.u))),
    )
    here = annotation_units[pair.key]
    known = {
        "kind": "additive", "size": len(v), "dims": units.axis, "scores": energies, "visible": None, "units": {
            "state": {**_project(states, pair.query, units), "values": units.of_row(state_units)},
            "annotation": {**_project(annotations, pair.key, units), "values": units.of_row(here)},
            "sum": units.of_row(state_units + here),
        },
        "meets": _scored(v, activations[pair.key], float(energies[pair.key]), units),
        "dots": [_dot(v, activations[at]) for at in keys.kept], "rows": [keys.of_rows({"symbol": "all e", "values": energies})],
    }  # fmt: skip
    places = [StepPlace(symbol, (1, units.width)) for symbol in ("W s", "U h", "+", "tanh")]
    dims, context = _context(keys, weights, inside.memory)
    scored, ends = ([*places, StepPlace("v·", (1, 1))], known), ([StepPlace("·H", (1, dims.width))], {"context": context})
    return _computation(pair, (keys, weights), scored, ["all e"], ends, merged)


def _scored(left: Float[np.ndarray, " dim"], right: Float[np.ndarray, " dim"], score: float, dims: Excerpt) -> dict[str, Any]:
    return {**product(left, right[:, None], dims), "score": score}


def _context(
    keys: Excerpt, weights: Float[np.ndarray, " key"], value: Float[np.ndarray, "some value_dim"]
) -> tuple[Excerpt, dict[str, Any]]:
    """Mix the values in the shares of a row."""
    # A sink has a weight, but nothing to hand over.
    value = np.concatenate([value, np.zeros((len(weights) - len(value), value.shape[1]))]).astype(np.float64)
    context = weights @ value
    dims = Excerpt.of(context, MOST_DIMS)
    return dims, {**product(weights, value[:, list(dims.kept)], keys), "dims": dims.axis, "values": dims.of_row(context)}


StepNumbers = tuple[list[StepPlace], dict[str, Any]]


def _computation(
    pair: QueryKey,
    shares: tuple[Excerpt, np.ndarray],
    scored: StepNumbers,
    rows: list[str],
    ends: StepNumbers,
    merged: dict[str, Any] | None,
) -> Computation:
    """Put together what leads to the scores, their `rows`, the weights, those of whole words, and what follows."""
    (keys, weights), (places, known), (after, mixed) = shares, scored, ends
    at = keys.kept.index(pair.key)
    of_rows = [StepPlace(symbol, (1, keys.width), (0, at)) for symbol in (*rows, "softmax")]
    # Before the context: it is the heatmap's number, and no further step needs it.
    word = [] if merged is None else [StepPlace("word", (1, 1))]
    names = [pair.keys[place] for place in keys.kept]
    link = {"query": pair.query_token, "key": pair.key_token, "at": at, "keys": keys.axis, "names": names}
    others = [float(weights[list(keys.rest)].sum())] * bool(keys.rest)
    row = [*keys.of_row(weights).tolist(), *others]
    return Computation(
        (*places, *of_rows, *word, *after), as_lists({**link, **known}), as_lists({"row": row, "merged": merged, **mixed})
    )


@dataclass(frozen=True)
class LinkSteps:
    """A computation, the weight that it ends in as the heatmap has it, and how far apart the two are."""

    steps: Computation
    weight: float
    difference: float


def link_steps(
    inputs: Ingredients, attention: AttentionMap, head: tuple[int, int], link: QueryKey, *, words: bool
) -> LinkSteps:
    """Compute the weight of a link step by step; `head` is its layer and head, whose `inputs` these are.

    `words` adds the step that merges subwords to words.

    Raises:
        TraceError: there is no such layer or head.
    """
    weights = attention.weights(*head)
    merged = _merged(attention, weights, link) if words else None
    steps = unfold_additive(inputs, link, merged) if isinstance(inputs, Additive) else unfold_dot_product(inputs, link, merged)
    weight = float(weights[link.query, link.key])
    return LinkSteps(steps, weight, abs(weight - steps.mixed["row"][steps.known["at"]]))


def _merged(attention: AttentionMap, weights: Float[np.ndarray, "query key"], link: QueryKey) -> dict[str, Any] | None:
    """Collect the weights between the pieces of two words; None where both words are one piece."""
    queries, keys = (
        next(group for group in word_groups(tokens) if position in group)
        for tokens, position in ((attention.queries, link.query), (attention.keys, link.key))
    )
    if len(queries) == len(keys) == 1:
        return None
    rows, columns = ([tokens[at].text for at in places] for tokens, places in
                     ((attention.queries, queries), (attention.keys, keys)))  # fmt: skip
    return {"rows": rows, "columns": columns, "values": weights[np.ix_(queries, keys)].astype(np.float64).tolist()}
