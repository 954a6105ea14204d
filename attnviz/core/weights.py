"""How a map keeps its attention weights: as they are, which suits small maps and mechanisms that are not a dot product.

The other way is as the queries and keys that they are computed from: memory then grows with layers·heads·tokens·dim instead of
layers·heads·tokens².

What a number of a map is (`Quantity`): a weight of 0.9 on a vector of no length moves nothing. Kobayashi et al. 2020
(arXiv:2004.10102) multiply each weight by the length of what it carries, ‖α f(x)‖ with f(x) = x W_V W_O; Kobayashi et al.
2021 (arXiv:2109.07152) count the residual connection and LayerNorm too. Here each number is a share of its row, so that all
three are drawn, compared and exported alike.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.core.errors import TraceError

# float32 softmax rows are exact to about 1e-6; some models sum what they scale again.
ROW_SUM_TOLERANCE = 1e-4
# The largest relative error of rounding to the nearest number of a type: 2^-p of p bits of precision.
_ROUNDING = {"bfloat16": 2**-8, "float16": 2**-11, "float8_e4m3fn": 2**-4, "float8_e5m2": 2**-3}


def rounding_of(dtype: Any) -> float:
    """Return the relative error with which a type of torch, NumPy or JAX stores a number; 0 for float32 and better.

    >>> rounding_of(np.dtype("float16")) == 2**-11, rounding_of(np.dtype("float32"))
    (True, 0.0)
    """
    return _ROUNDING.get(str(dtype).rpartition(".")[2], 0.0)


def check_rows(weights: Float[np.ndarray, "head query key"], layer: int, rounding: float = 0.0) -> None:
    """Check that each row sums to 1, or to 0. Weights that were rounded sum to 1 with the relative error of each.

    Raises:
        TraceError: one does not, or a weight is negative or not finite.
    """
    if not np.isfinite(weights).all():
        raise TraceError(f"Layer {layer} has attention weights that are not finite.")
    if weights.size and weights.min() < 0:
        raise TraceError(f"Layer {layer} has negative attention weights.")
    sums = weights.sum(axis=-1)
    wrong = (np.abs(sums - 1) > ROW_SUM_TOLERANCE + rounding) & (sums != 0)
    if wrong.any():
        head, query = np.argwhere(wrong)[0]
        raise TraceError(
            f"The row of query {query} in layer {layer} head {head} sums to {sums[head, query]:.4f} instead of 1; "
            "give weights after the softmax, one row a query."
        )


def renormalize(
    weights: Float[np.ndarray, "head query key"], layer: int, rounding: float
) -> Float[np.ndarray, "head query key"]:
    """Let rows that were rounded to fewer bits sum to 1 again, in float32; those of float32 stay as they are.

    Raises:
        TraceError: a row is farther from 1 than rounding explains.
    """
    if not rounding:
        return weights
    check_rows(weights, layer, rounding)
    sums = weights.sum(axis=-1, keepdims=True, dtype=np.float64)
    return (weights / np.where(sums, sums, 1)).astype(np.float32)


Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Weights = Float[np.ndarray, "query key"]
Entropy = Float[np.ndarray, " query"]
LayerWeights = Float[np.ndarray, "head query key"]
# The exponential of a masked score is exactly 0; and 0 times it is 0, where 0 times -inf would be no number.
MASKED_SCORE = np.float32(-1e30)


def layers_of_heads(layers: int, heads: int) -> str:
    """Write how many layers and heads there are.

    >>> layers_of_heads(6, 12), layers_of_heads(1, 1)
    ('6 layers of 12 heads', '1 layer of 1 head')
    """
    return f"{layers} layer{'s' * (layers != 1)} of {heads} head{'s' * (heads != 1)}"


def frozen(array: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """View `array` read-only: no copy where the dtype already fits."""
    view = np.asarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def address(array: np.ndarray) -> tuple[int, int]:
    """Find the memory that an array is a view of."""
    return array.__array_interface__["data"][0], array.nbytes


@lru_cache(maxsize=4)
def causal_triangle(n_queries: int, n_keys: int) -> Bool[np.ndarray, "query key"]:
    """Mark where a query may look at a key that is no later. With a cache, the last query is the last key."""
    triangle = np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    triangle.flags.writeable = False
    return triangle


def masked_softmax(
    scores: Float[np.ndarray, "*batch key"], visible: Bool[np.ndarray, "*#batch key"] | None
) -> Float[np.ndarray, "*batch key"]:
    """Apply softmax over the keys: exactly 0 where a key is not visible, and a row of zeros where none is."""
    scores = scores.copy()
    if visible is not None:
        np.copyto(scores, MASKED_SCORE, where=~visible)
    softmax(scores, scores)
    return scores


def softmax(scores: Float[np.ndarray, "*batch key"], weights: Float[np.ndarray, "*batch key"]) -> Float[np.ndarray, "*batch 1"]:
    """Write the softmax of scores: 0 for a score of `MASKED_SCORE`, and a row of zeros where there is no other.

    From the scores of each row its largest is taken. Returns the sum of their exponentials, for `entropy_of`. The weights may
    be written over the scores.
    """
    highest = scores.max(axis=-1, keepdims=True)
    # A row with nothing to see keeps its scores, whose exponentials are all 0.
    scores -= np.where(highest > MASKED_SCORE / 2, highest, 0)
    np.exp(scores, out=weights)
    total = weights.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    weights /= total
    return total


def entropy_of(
    weights: Float[np.ndarray, "*batch key"], scores: Float[np.ndarray, "*batch key"], total: Float[np.ndarray, "*batch 1"]
) -> Float[np.ndarray, "*batch"]:
    """Compute the entropy of each row, in nats, from what `softmax` left: H = log Σ exp s - Σ p s (no log p)."""
    # Rounding leaves a hair below 0 for a row that looks at one key only.
    return np.maximum(np.log(total[..., 0]) - np.vecdot(weights, scores), 0)


@dataclass(frozen=True, eq=False)
class EditedHeads:
    """Heads of a layer whose weights were changed while the model read: these are the weights that it used.

    Raises:
        TraceError: there are not as many weights as heads, or a row sums neither to 1 nor to 0.
    """

    heads: tuple[int, ...]
    weights: LayerWeights

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", frozen(self.weights))
        if len(self.heads) != len(self.weights) or len(set(self.heads)) != len(self.heads) or not self.heads:
            raise TraceError(f"{len(self.weights)} edited heads have the numbers {self.heads}.")
        check_rows(self.weights, 0)

    def lay_over(self, weights: LayerWeights, heads: Int[np.ndarray, " head"], rows: slice) -> None:
        """Write some rows of these weights over those of the heads of these numbers."""
        for place, head in enumerate(heads.tolist()):
            if head in self.heads:
                weights[place] = self.weights[self.heads.index(head), rows]


class Slab(NamedTuple):
    """The weights of neighbouring queries of a head, to its first keys; to those behind them they give nothing.

    They stand until the next slab is asked for.

    entropy  of each row in nats, where its softmax has told it by the way
    """

    rows: slice
    weights: Weights
    entropy: Entropy | None


@runtime_checkable
class WeightStore(Protocol):
    """What an `AttentionMap` needs of its weights. Stores check themselves when they are built."""

    @property
    def n_layers(self) -> int: ...
    @property
    def n_heads(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries, number of keys."""
        ...

    @property
    def nbytes(self) -> int: ...
    def head(self, layer: int, head: int) -> Weights: ...
    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        """Yield the weights of a head, some rows at a time."""
        ...

    def layer(self, layer: int) -> LayerWeights: ...
    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        """Say which keys a query may look at; None: all, or not known."""
        ...


@dataclass(frozen=True, eq=False)
class DenseWeights:
    """All weights, one array a layer.

    Raises:
        TraceError: layers differ in shape, a value is not finite, or a row sums neither to 1 nor to 0.
    """

    layers: tuple[LayerWeights, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(frozen(layer) for layer in self.layers))
        shapes = sorted({layer.shape for layer in self.layers})
        if len(shapes) != 1 or len(shapes[0]) != 3:
            raise TraceError(f"Every layer must have the same shape (head, query, key), got {shapes}.")
        for index, layer in enumerate(self.layers):
            check_rows(layer, index)

    def __repr__(self) -> str:
        return f"<DenseWeights: {self.n_layers} × {self.layers[0].shape}>"

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        return self.layers[0].shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        return self.layers[0].shape[1:]

    @property
    def nbytes(self) -> int:
        return sum(layer.nbytes for layer in self.layers)

    def head(self, layer: int, head: int) -> Weights:
        return self.layers[layer][head]

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return whole_slab(self.head(layer, head))

    def layer(self, layer: int) -> LayerWeights:
        return self.layers[layer]

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return None


def whole_slab(weights: Weights) -> Iterator[Slab]:
    """Give a head whose weights are there in one piece."""
    return iter([Slab(slice(0, len(weights)), weights, None)])


@dataclass(frozen=True, eq=False)
class DerivedWeights(WeightStore):
    """What is made of the weights of another store; it tells no entropy of them."""

    store: WeightStore

    @property
    def n_layers(self) -> int:
        return self.store.n_layers

    @property
    def n_heads(self) -> int:
        return self.store.n_heads

    @property
    def shape(self) -> tuple[int, int]:
        return self.store.shape

    @property
    def nbytes(self) -> int:
        return self.store.nbytes

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return whole_slab(self.head(layer, head))


# weights: as the heads give them; norms: ‖α f(x)‖ of each head; mixing: of a whole layer, residual and LayerNorm counted.
Quantity = Literal["weights", "norms", "mixing"]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)


@dataclass(frozen=True, eq=False, repr=False)
class MaskedWeights(DenseWeights):
    """All weights, and which keys each query may look at."""

    seen: tuple[Bool[np.ndarray, "query key"], ...] = ()

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"]:
        return self.seen[layer]


def spread_window(layers: Sequence[np.ndarray], n_keys: int) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Lay weights that are given as a band around each query over all keys, and say which keys are in it.

    Column w of 2w + 1 is the query itself (Beltagy et al. 2020, arXiv:2004.05150, section 3.1).
    """
    width = layers[0].shape[2]
    if width == n_keys or width % 2 == 0 or layers[0].shape[1] != n_keys:
        return list(layers), None
    queries, columns = np.indices((n_keys, width))
    keys = queries + columns - width // 2
    inside = (keys >= 0) & (keys < n_keys)
    spread = [np.zeros((len(layer), n_keys, n_keys), np.float32) for layer in layers]
    seen = np.zeros((n_keys, n_keys), bool)
    seen[queries[inside], keys[inside]] = True
    for whole, layer in zip(spread, layers, strict=True):
        whole[:, queries[inside], keys[inside]] = layer[:, inside]
    return spread, seen


# So many weights of a head are computed at a time: they fit the cache, and threads seldom wait for each other.
SLAB_CELLS = 1_048_576


@dataclass(frozen=True, eq=False)
class QueryKeyLayer:
    """One layer of scaled dot-product attention: softmax(mask(softcap(scaling · Q Kᵀ) + bias)).

    Vaswani et al. 2017, section 3.2.1. Queries and keys are those the model multiplied, after any rotary embedding.
    A model with grouped queries (Ainslie et al. 2023) has fewer key heads than query heads. A sink (one learned score a
    head, which takes attention but gives no value) adds a last key column. `value`, where it is kept, is what the weights mix;
    `edited` are heads that had other weights than their queries and keys give.

    Raises:
        TraceError: shapes do not fit together, or a query or key is not finite.
    """

    query: Float[np.ndarray, "head query dim"]
    key: Float[np.ndarray, "key_head key dim"]
    scaling: float
    causal: bool = False
    visible: Bool[np.ndarray, "query key"] | None = None
    bias: Float[np.ndarray, "#head query key"] | None = None
    softcap: float | None = None
    sink: Float[np.ndarray, " head"] | None = None
    value: Float[np.ndarray, "key_head key value_dim"] | None = None
    edited: EditedHeads | None = None

    def __post_init__(self) -> None:
        for name in ("query", "key", "bias", "sink", "value"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen(array))
                # Layers may share a bias, which is checked once, where they come together.
                if name != "bias" and not np.isfinite(array).all():
                    raise TraceError(f"The {name} of a layer holds values that are not finite.")
        heads, key_heads = self.query.shape[0], self.key.shape[0]
        if self.query.shape[2] != self.key.shape[2] or heads % key_heads:
            raise TraceError(f"Queries {self.query.shape} and keys {self.key.shape} do not fit together.")
        if self.visible is not None:
            object.__setattr__(self, "visible", frozen(self.visible, bool))
        n_queries, n_keys = self.shape
        self._check("mask", self.visible, (n_queries, n_keys))
        self._check("bias", self.bias, (heads, n_queries, n_keys), (1, n_queries, n_keys))
        self._check("sink", self.sink, (heads,))
        self._check("value", None if self.value is None else self.value[..., 0], (key_heads, n_keys))
        self._check(
            "head", None if self.edited is None else self.edited.weights[0], (n_queries, n_keys + (self.sink is not None))
        )

    def _check(self, name: str, array: np.ndarray | None, *shapes: tuple[int, ...]) -> None:
        if array is not None and array.shape not in shapes:
            heads = len(self.query)
            raise TraceError(f"A {name} of shape {array.shape} does not fit {heads} heads over {self.shape} queries and keys.")

    def __repr__(self) -> str:
        return f"<QueryKeyLayer: queries {self.query.shape}, keys {self.key.shape}>"

    @property
    def edited_weights(self) -> tuple[LayerWeights, ...]:
        return () if self.edited is None else (self.edited.weights,)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries, number of keys; the column of a sink is not counted."""
        return self.query.shape[1], self.key.shape[1]

    def weights(self, heads: slice) -> LayerWeights:
        """Compute the attention weights of some query heads, in float32."""
        count, (n_queries, n_keys) = len(self.query[heads]), self.shape
        weights = np.zeros((count, n_queries, n_keys + (self.sink is not None)), dtype=np.float32)
        for rows, slab, _ in self._slabs(heads):
            weights[:, rows, : slab.shape[2]] = slab
        return weights

    def slabs(self, head: int) -> Iterator[Slab]:
        """Compute the weights of one head, some rows at a time, with the entropy of each."""
        is_edited = self.edited is not None and head in self.edited.heads
        for rows, weights, told in self._slabs(slice(head, head + 1)):
            yield Slab(rows, weights[0], None if is_edited else entropy_of(weights, *told)[0])

    def _slabs(self, heads: slice) -> Iterator[tuple[slice, LayerWeights, tuple[np.ndarray, np.ndarray]]]:
        """Yield the weights of some rows of some heads; and what `softmax` tells of their entropy where they are not edited."""
        n_queries, n_keys = self.shape
        n_columns = n_keys + (self.sink is not None)
        # Keys are laid out as the product reads them: once for all queries.
        groups = np.arange(len(self.query))[heads] // (len(self.query) // len(self.key))
        keys = np.ascontiguousarray(self.key[groups].swapaxes(1, 2))
        step = max(1, SLAB_CELLS // n_keys)
        # Written again and again: new memory for every slab of a long text takes longer than what is computed in it.
        room = np.empty((2, len(groups) * min(step, n_queries) * n_columns), dtype=np.float32)
        for start in range(0, n_queries, step):
            rows = slice(start, min(start + step, n_queries))
            # Keys that are later than all of these queries get nothing, unless a sink stands behind them or somebody typed it.
            is_cut = self.causal and self.sink is None and self.edited is None
            past = max(rows.stop + n_keys - n_queries, 1) if is_cut else n_columns
            shape = (len(groups), rows.stop - rows.start, past)
            scores, weights = (each[: math.prod(shape)].reshape(shape) for each in room)
            self._score(heads, rows, keys[..., :past], scores[..., :n_keys])
            if self.sink is not None:
                scores[..., n_keys] = self.sink[heads, None]
            self._mask(rows, scores[..., :n_keys])
            total = softmax(scores, weights)
            if self.edited is not None:
                self.edited.lay_over(weights, np.arange(len(self.query))[heads], rows)
            yield rows, weights, (scores, total)

    def _score(self, heads: slice, rows: slice, keys: Float[np.ndarray, "head dim key"], scores: LayerWeights) -> None:
        """Write softcap(scaling · Q Kᵀ) + bias of some queries over the first keys, as many as `scores` has columns."""
        n_keys = scores.shape[2]
        np.matmul(self.query[heads, rows], keys, out=scores)
        scores *= np.float32(self.scaling)
        if self.softcap is not None:
            scores /= np.float32(self.softcap)
            np.tanh(scores, out=scores)
            scores *= np.float32(self.softcap)
        if self.bias is not None:
            scores += (self.bias if self.bias.shape[0] == 1 else self.bias[heads])[:, rows, :n_keys]

    def _mask(self, rows: slice, scores: LayerWeights) -> None:
        """Write `MASKED_SCORE` where some queries may not look at the first keys, as many as `scores` has columns."""
        if self.visible is not None:
            np.copyto(scores, MASKED_SCORE, where=~self.visible[rows, : scores.shape[2]])
        if self.causal:
            # All of these queries see the keys that are no later than the first of them.
            n_queries, n_keys = self.shape
            later = slice(max(rows.start + 1 + n_keys - n_queries, 0), scores.shape[2])
            np.copyto(scores[..., later], MASKED_SCORE, where=~causal_triangle(n_queries, n_keys)[rows, later])

    def visible_keys(self) -> Bool[np.ndarray, "query key"] | None:
        """Combine the mask with the causal triangle; a sink can always be seen. None: all can be seen."""
        visible = self.visible
        if self.causal:
            past = causal_triangle(*self.shape)
            visible = past if visible is None else past & visible
        if visible is not None and self.sink is not None:
            visible = np.pad(visible, ((0, 0), (0, 1)), constant_values=True)
        return visible


@dataclass(frozen=True, eq=False)
class QueryKeyWeights:
    """Queries and keys of every layer; a head's weights are computed when they are asked for.

    Raises:
        TraceError: the layers differ in heads, queries or keys.
    """

    layers: Sequence[QueryKeyLayer]

    def __post_init__(self) -> None:
        shapes = [(layer.query.shape[0], *layer.shape, layer.sink is not None) for layer in self.layers]
        self.check(shapes, [layer.bias for layer in self.layers])

    @staticmethod
    def check(shapes: Sequence[tuple[int, ...]], biases: Sequence[np.ndarray | None]) -> None:
        """Check that all layers have one shape, and finite biases."""
        if len(set(shapes)) != 1:
            raise TraceError(f"Every layer must have the same heads, queries and keys, got {sorted(set(shapes))}.")
        own = {address(bias): bias for bias in biases if bias is not None}
        if not all(np.isfinite(bias).all() for bias in own.values()):
            raise TraceError("The bias of a layer holds values that are not finite.")

    def __repr__(self) -> str:
        first = self.layers[0]
        return f"<QueryKeyWeights: {self.n_layers} × queries {first.query.shape}, keys {first.key.shape}>"

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        return self.layers[0].query.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        n_queries, n_keys = self.layers[0].shape
        return n_queries, n_keys + (self.layers[0].sink is not None)

    @property
    def nbytes(self) -> int:
        """Bytes held; an array that layers share (a mask, T5's position bias) counts once."""
        arrays = [
            array
            for layer in self.layers
            for array in (layer.query, layer.key, layer.visible, layer.bias, layer.sink, layer.value, *layer.edited_weights)
            if array is not None
        ]
        return sum({address(array): array.nbytes for array in arrays}.values())

    def head(self, layer: int, head: int) -> Weights:
        return frozen(self.layers[layer].weights(slice(head, head + 1))[0])

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return self.layers[layer].slabs(head)

    def layer(self, layer: int) -> LayerWeights:
        return frozen(self.layers[layer].weights(slice(None)))

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return self.layers[layer].visible_keys()
