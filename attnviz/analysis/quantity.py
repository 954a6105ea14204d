"""What the numbers of a map are: weights, or how much is moved by them.

A weight of 0.9 on a vector of no length moves nothing. Kobayashi et al. 2020 (arXiv:2004.10102) multiply each weight by the
length of what it carries, ‖α f(x)‖ with f(x) = x W_V W_O; Kobayashi et al. 2021 (arXiv:2109.07152) count the residual
connection and LayerNorm too. Here each number is a share of its row, so that all three are drawn, compared and exported alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool

from attnviz.analysis.wording import WEIGHT, head_name
from attnviz.core.trace import AttentionTrace
from attnviz.core.weights import DenseWeights

# weights: as the heads give them; norms: ‖α f(x)‖ of each head; mixing: of a whole layer, residual and LayerNorm counted.
Weighing = Literal["weights", "norms", "mixing"]
WEIGHINGS: tuple[Weighing, ...] = get_args(Weighing)
TITLES: dict[Weighing, str] = {"weights": "Weights", "norms": "Weights × value norms", "mixing": "Mixing with the residual"}
# What a single number is, in a sentence.
NUMBERS: dict[Weighing, str] = {"weights": WEIGHT, "norms": "norm share", "mixing": "mixing share"}


@dataclass(frozen=True, eq=False, repr=False)
class MaskedWeights(DenseWeights):
    """All weights, and which keys each query may look at."""

    seen: tuple[Bool[np.ndarray, "query key"], ...] = ()

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"]:
        return self.seen[layer]


@dataclass(frozen=True, eq=False)
class WeighedTrace:
    """A trace `by` one weighing; `changes` has of each kind and layer the mixing ratio, where the model tells it.

    The mixing ratio is ‖what comes from others‖ / (‖what stays‖ + ‖what comes from others‖), averaged over tokens, 0 to 1.
    """

    trace: AttentionTrace
    changes: Mapping[tuple[str, int], float]
    by: Weighing = "norms"

    def named(self, layer: int, head: int | None) -> str:
        """Name a head as its numbers stand; where heads are mixed, the layer.

        >>> from attnviz.core.from_weights import from_weights
        >>> WeighedTrace(from_weights([[1.0]], ["hi"]), {}, "mixing").named(3, None)
        'Layer 3'
        """
        return f"Layer {layer}" if self.by == "mixing" else head_name(layer, head)

    def sentence(self, kind: str, layer: int) -> str:
        """Say how much a layer changes a token; empty where that is not known.

        >>> from attnviz.core.from_weights import from_weights
        >>> trace = from_weights([[1.0]], ["hi"])
        >>> WeighedTrace(trace, {("encoder", 3): 0.19}).sentence("encoder", 3)
        'This layer changes a token by 19%: the rest is what the token was before.'
        """
        if (ratio := self.changes.get((kind, layer))) is None:
            return ""
        return f"This layer changes a token by {ratio:.0%}: the rest is what the token was before."
