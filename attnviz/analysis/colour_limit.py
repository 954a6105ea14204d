"""Where the colours of a long text's matrix end: a few large weights would leave all others white."""

import math

import numpy as np

from attnviz.analysis.head_view import HeadMatrix

# From so many rows or columns on, a text is long.
LONG = 128
# This share of the weights is at most the limit: the others have the strongest colour.
SHARE = 0.99
# Faint noise must not look strong: colours end at so many times what each key gets where all get the same, at least.
TIMES_EVEN = 5


def colour_limit(matrix: HeadMatrix) -> float | None:
    """Find the weight from which on the cells of a long text have the strongest colour; None of a short text.

    It is the 99th percentile of the weights that are not masked, the nearest of them, or five times an even weight.

    >>> from attnviz.core.trace import AttentionMap, DenseWeights, Token
    >>> from attnviz.analysis.head_view import head_matrix
    >>> tokens = tuple(Token(str(at), 2 * at, 2 * at + 1) for at in range(200))
    >>> even = AttentionMap("encoder", tokens, tokens, DenseWeights((np.full((1, 200, 200), 1 / 200, np.float32),)))
    >>> round(colour_limit(head_matrix(even, layer=0, head=0)), 6)
    0.025
    """
    if max(matrix.weights.shape) < LONG:
        return None
    weights = matrix.weights[matrix.visible]
    if not weights.size:
        return None
    rank = math.ceil(SHARE * weights.size) - 1
    return max(float(np.partition(weights, rank)[rank]), TIMES_EVEN / matrix.weights.shape[1])
