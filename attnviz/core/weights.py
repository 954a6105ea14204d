"""How a map keeps its attention weights: as they are, which suits small maps and mechanisms that are not a dot product.

The other way, as the queries and keys that they are computed from, is in `query_key.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool

from attnviz.core.arrays import Entropy, LayerWeights, Weights, frozen
from attnviz.core.errors import TraceError
from attnviz.core.row_sums import check_rows


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
        """The weights of a head, some rows at a time."""
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

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return whole_slab(self.head(layer, head))

    def layer(self, layer: int) -> LayerWeights:
        return self.layers[layer]

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return None


def whole_slab(weights: Weights) -> Iterator[Slab]:
    """Give a head whose weights are there in one piece."""
    return iter([Slab(slice(0, len(weights)), weights, None)])
