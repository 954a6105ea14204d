"""Sinkhorn rescaling: an alignment in which every source word is used, and words are linked with words."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from attnviz.text.words import has_letters

ROUNDS = 20
# A key that no query looks at has no share that could grow: every weight begins at least this large.
LEAST = 1e-3


def same_class(queries: Sequence[str], keys: Sequence[str]) -> Bool[np.ndarray, "query key"]:
    """Mark where a word, with a letter or a digit in it, meets a word, or punctuation punctuation.

    A decoder's small words often look at the full stop, which costs the translation nothing; no aligner would link them.

    >>> same_class(["chat", "."], ["the", "cat", "!"])
    array([[ True,  True, False],
           [False, False,  True]])
    """
    query_is_word, key_is_word = (np.array([has_letters(text) for text in side], dtype=bool) for side in (queries, keys))
    return query_is_word[:, None] == key_is_word


def balanced(
    weights: Float[np.ndarray, "query key"], allowed: Bool[np.ndarray, "query key"] | None = None
) -> Float[np.ndarray, "query key"]:
    """Scale the weights until rows sum to 1 and columns sum alike: Sinkhorn & Knopp 1967, as in optimal transport.

    All rows of an attention may look at one popular key. In an alignment each source word is translated somewhere.
    Rows of zeros (masked queries) stay so. A cell that is not `allowed` becomes 0, and so does a row of no others.

    >>> popular = np.array([[0.6, 0.4], [0.9, 0.1]])
    >>> popular.argmax(axis=1), balanced(popular).argmax(axis=1)
    (array([0, 0]), array([1, 0]))
    """
    allowed = np.ones_like(weights, dtype=bool) if allowed is None else allowed
    seen = (weights.sum(axis=1, keepdims=True) > 0) & allowed.any(axis=1, keepdims=True)
    balanced_weights = np.where(seen & allowed, weights + LEAST, 0).astype(np.float64)
    share = seen.sum() / balanced_weights.shape[1]
    for _ in range(ROUNDS):
        balanced_weights *= share / np.maximum(balanced_weights.sum(axis=0, keepdims=True), 1e-12)
        balanced_weights /= np.where(seen, balanced_weights.sum(axis=1, keepdims=True), 1)
    return balanced_weights
