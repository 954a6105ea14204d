"""An alignment in which every source word is used: attention rescaled until no key takes more than its share."""

import numpy as np
from jaxtyping import Float

ROUNDS = 20
# A key that no query looks at has no share that could grow: every weight begins at least this large.
LEAST = 1e-3


def balanced(weights: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """The weights with rows that sum to 1 and columns that sum alike: Sinkhorn & Knopp 1967, as in optimal transport.

    Nothing stops the rows of an attention from all looking at one popular key, and translation alone gives no reason to look at
    every word. An alignment has one: each source word is translated somewhere. Which cells grow, the weights decide.
    Rows of zeros (masked queries) stay so.

    >>> popular = np.array([[0.6, 0.4], [0.9, 0.1]])
    >>> popular.argmax(axis=1), balanced(popular).argmax(axis=1)
    (array([0, 0]), array([1, 0]))
    """
    seen = weights.sum(axis=1, keepdims=True) > 0
    found = np.where(seen, weights + LEAST, 0).astype(np.float64)
    share = seen.sum() / found.shape[1]
    for _ in range(ROUNDS):
        found *= share / np.maximum(found.sum(axis=0, keepdims=True), 1e-12)
        found /= np.where(seen, found.sum(axis=1, keepdims=True), 1)
    return found
