"""Attention weights that are kept as the queries and keys they are computed from.

So memory grows with layers·heads·tokens·dim instead of layers·heads·tokens².
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.errors import TraceError
from attnviz.core.weights import (
    MASKED_SCORE,
    EditedHeads,
    LayerWeights,
    Slab,
    Weights,
    address,
    causal_triangle,
    entropy_of,
    frozen,
    softmax,
)

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
                    raise TraceError(f"the {name} of a layer holds values that are not finite")
        heads, key_heads = self.query.shape[0], self.key.shape[0]
        if self.query.shape[2] != self.key.shape[2] or heads % key_heads:
            raise TraceError(f"queries {self.query.shape} and keys {self.key.shape} do not fit together")
        if self.visible is not None:
            object.__setattr__(self, "visible", frozen(self.visible, bool))
        for name, array, sizes in (
            ("mask", self.visible, (self.shape,)),
            ("bias", self.bias, ((heads, *self.shape), (1, *self.shape))),
            ("sink", self.sink, ((heads,),)),
            ("value", None if self.value is None else self.value[..., 0], ((key_heads, self.shape[1]),)),
            (
                "head",
                None if self.edited is None else self.edited.weights[0],
                ((self.shape[0], self.shape[1] + (self.sink is not None)),),
            ),
        ):
            if array is not None and array.shape not in sizes:
                raise TraceError(
                    f"a {name} of shape {array.shape} does not fit {heads} heads over {self.shape} queries and keys"
                )

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
            raise TraceError(f"every layer must have the same heads, queries and keys, got {sorted(set(shapes))}")
        own = {address(bias): bias for bias in biases if bias is not None}
        if not all(np.isfinite(bias).all() for bias in own.values()):
            raise TraceError("the bias of a layer holds values that are not finite")

    def __repr__(self) -> str:
        first = self.layers[0]
        return f"<QueryKeyWeights: {self.n_layers} layers of queries {first.query.shape}, keys {first.key.shape}>"

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
