"""The difference of two maps over the same tokens, laid out as a map, so that whatever draws a map can draw it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.trace import AttentionMap, WeightStore
from attnviz.core.weights import Slab, whole_slab


@dataclass(frozen=True, eq=False)
class DifferenceWeights:
    """After less before, head by head: numbers from -1 to 1, whose rows sum to 0 unless a head was switched off."""

    before: WeightStore
    after: WeightStore

    @property
    def n_layers(self) -> int:
        return self.after.n_layers

    @property
    def n_heads(self) -> int:
        return self.after.n_heads

    @property
    def shape(self) -> tuple[int, int]:
        return self.after.shape

    @property
    def nbytes(self) -> int:
        return 0

    def head(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        return self.after.head(layer, head) - self.before.head(layer, head)

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return whole_slab(self.head(layer, head))

    def layer(self, layer: int) -> Float[np.ndarray, "head query key"]:
        return self.after.layer(layer) - self.before.layer(layer)

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return self.before.visible(layer)


def difference(before: AttentionMap, after: AttentionMap) -> AttentionMap | None:
    """Subtract the map before from the one after; None where they are not over the same tokens.

    >>> from attnviz.core.trace import DenseWeights, Token
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> maps = [AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[x, 1 - x], [0, 1]]]),))) for x in (0.25, 1.0)]
    >>> difference(*maps).weights(0, 0).tolist()
    [[0.75, -0.75], [0.0, 0.0]]
    """
    if (before.queries, before.keys) != (after.queries, after.keys):
        return None
    return AttentionMap(after.kind, after.queries, after.keys, DifferenceWeights(before.store, after.store), after.causal)


def is_difference(attention: AttentionMap) -> bool:
    """Tell whether a map is the difference of two."""
    return isinstance(attention.store, DifferenceWeights)
