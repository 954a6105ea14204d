"""Arrays of attention weights: kinds of attention, axes, softmax, and the weights of edited heads."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.core.errors import TraceError
from attnviz.core.row_sums import check_rows

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Weights = Float[np.ndarray, "query key"]
Entropy = Float[np.ndarray, " query"]
LayerWeights = Float[np.ndarray, "head query key"]
# The exponential of a masked score is exactly 0; and 0 times it is 0, where 0 times -inf would be no number.
MASKED_SCORE = np.float32(-1e30)


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
            raise TraceError(f"{len(self.weights)} edited heads have the numbers {self.heads}")
        check_rows(self.weights, 0)

    def lay_over(self, weights: LayerWeights, heads: Int[np.ndarray, " head"], rows: slice) -> None:
        """Write some rows of these weights over those of the heads of these numbers."""
        for place, head in enumerate(heads.tolist()):
            if head in self.heads:
                weights[place] = self.weights[self.heads.index(head), rows]
