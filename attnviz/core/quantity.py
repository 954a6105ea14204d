"""What a number of a map may be: a weight, or how much is moved by it.

A weight of 0.9 on a vector of no length moves nothing. Kobayashi et al. 2020 (arXiv:2004.10102) multiply each weight by the
length of what it carries, ‖α f(x)‖ with f(x) = x W_V W_O; Kobayashi et al. 2021 (arXiv:2109.07152) count the residual
connection and LayerNorm too. Here each number is a share of its row, so that all three are drawn, compared and exported alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool

from attnviz.core.weights import DenseWeights

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
