"""The softmax of a map's scores: from how well each key fits a query to how much the query takes of it."""

import numpy as np
from jaxtyping import Bool, Float

# The exponential of a masked score is exactly 0; and 0 times it is 0, where 0 times -inf would be no number.
MASKED_SCORE = np.float32(-1e30)


def masked_softmax(
    scores: Float[np.ndarray, "*batch key"], visible: Bool[np.ndarray, "*#batch key"] | None
) -> Float[np.ndarray, "*batch key"]:
    """Apply softmax over the keys: exactly 0 where a key is not visible, and a row of zeros where none is."""
    weights = scores.copy()
    if visible is not None:
        np.copyto(weights, MASKED_SCORE, where=~visible)
    softmax_in_place(weights)
    return weights


def softmax_in_place(scores: Float[np.ndarray, "*batch key"], entropy: Float[np.ndarray, "*batch"] | None = None) -> None:
    """Turn scores into weights; a score of `MASKED_SCORE` becomes exactly 0, and a row of nothing else a row of zeros.

    `entropy` is given that of each row, in nats: H = log Σ exp s - Σ p s, which needs no logarithm of any weight.
    """
    highest = scores.max(axis=-1, keepdims=True)
    # A row with nothing to see keeps its scores, whose exponentials are all 0.
    scores -= np.where(highest > MASKED_SCORE / 2, highest, 0)
    shifted = None if entropy is None else scores.copy()
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    scores /= total
    if shifted is not None:
        # Rounding leaves a hair below 0 for a row that looks at one key only.
        np.maximum(np.log(total[..., 0]) - np.vecdot(scores, shifted), 0, out=entropy)
