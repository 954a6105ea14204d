"""How a map keeps its attention weights: as they are, or as the queries and keys they are computed from.

`DenseWeights` suits small maps and mechanisms that are not a dot product. `QueryKeyWeights` keeps what scaled dot-product
attention was given, so that memory grows with layers·heads·tokens·dim instead of layers·heads·tokens².
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.arrays import (
    MASKED_SCORE,
    EditedHeads,
    Entropy,
    LayerWeights,
    Weights,
    address,
    causal_triangle,
    check_rows,
    frozen,
    softmax_in_place,
)
from attnviz.core.errors import TraceError

# So many weights of a head are computed at a time: they stay in the processor's cache from their scores to the softmax.
SLAB_CELLS = 2**18


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
    def each_head(self, layer: int) -> Iterator[tuple[Weights, Entropy | None]]:
        """The weights of each head, and the entropy of each query's row in nats where their softmax tells it by the way.

        The weights stand until the next head is asked for, which may be written over them.
        """
        ...

    def layer(self, layer: int) -> LayerWeights: ...
    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        """Which keys a query may look at; None: all, or not known."""
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
            raise TraceError(f"every layer must have the same shape (head, query, key), got {shapes}")
        for index, layer in enumerate(self.layers):
            check_rows(layer, index)

    def __repr__(self) -> str:
        return f"<DenseWeights: {self.n_layers} layers of shape {self.layers[0].shape}>"

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

    def each_head(self, layer: int) -> Iterator[tuple[Weights, None]]:
        return ((weights, None) for weights in self.layers[layer])

    def layer(self, layer: int) -> LayerWeights:
        return self.layers[layer]

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return None


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

    def weights(
        self,
        heads: slice,
        entropy: Float[np.ndarray, "head query"] | None = None,
        over: Float[np.ndarray, "head query key"] | None = None,
    ) -> LayerWeights:
        """The attention weights of some query heads, computed in float32; `entropy` is given that of their rows, in nats.

        They are written over those of other heads of this layer where such are given: new memory for every head of a long text
        takes a fifth of the time.
        """
        n_queries, n_keys = self.shape
        shape = (len(self.query[heads]), n_queries, n_keys + (self.sink is not None))
        weights = np.zeros(shape, dtype=np.float32) if over is None or self.edited is not None else over
        # Keys are laid out as the product reads them: once for all queries.
        groups = np.arange(len(self.query))[heads] // (len(self.query) // len(self.key))
        keys = np.ascontiguousarray(self.key[groups].swapaxes(1, 2))
        step = max(1, SLAB_CELLS // n_keys)
        for start in range(0, n_queries, step):
            rows = slice(start, min(start + step, n_queries))
            # Keys that are later than all of these queries keep their 0, unless a sink stands behind them.
            past = max(rows.stop + n_keys - n_queries, 1) if self.causal and self.sink is None else weights.shape[2]
            slab = weights[:, rows, :past]
            self._score(heads, rows, keys[..., :past], slab[..., :n_keys])
            if self.sink is not None:
                slab[..., n_keys] = self.sink[heads, None]
            self._mask(rows, slab[..., :n_keys])
            softmax_in_place(slab, None if entropy is None else entropy[:, rows])
        if self.edited is not None:
            self.edited.lay_over(weights, np.arange(len(self.query))[heads], entropy)
        return weights

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

    layers: tuple[QueryKeyLayer, ...]

    def __post_init__(self) -> None:
        shapes = sorted({(layer.query.shape[0], *layer.shape, layer.sink is not None) for layer in self.layers})
        if len(shapes) != 1:
            raise TraceError(f"every layer must have the same heads, queries and keys, got {shapes}")
        biases = {address(layer.bias): layer.bias for layer in self.layers if layer.bias is not None}
        if not all(np.isfinite(bias).all() for bias in biases.values()):
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

    def each_head(self, layer: int) -> Iterator[tuple[Weights, Entropy]]:
        weights = np.zeros((1, *self.shape), dtype=np.float32)
        for head in range(self.n_heads):
            entropy = np.empty((1, self.shape[0]), dtype=np.float32)
            yield self.layers[layer].weights(slice(head, head + 1), entropy, weights)[0], entropy[0]

    def layer(self, layer: int) -> LayerWeights:
        return frozen(self.layers[layer].weights(slice(None)))

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return self.layers[layer].visible_keys()
