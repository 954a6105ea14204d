"""How likely a rate is to be no better than its rivals, and the correction for multiple tests (Holm)."""

import math

import numpy as np
from jaxtyping import Bool, Float

# The share of samples that an interval holds, and what draws them.
CONFIDENCE, SEED = 0.95, 0


def one_sided_p(
    differences: Float[np.ndarray, "sentence *heads"], queries: Float[np.ndarray, " sentence"]
) -> Float[np.ndarray, "*heads"]:
    """Compute how likely Σ differences / Σ queries is as large as it is though it were 0.

    The error of the ratio R is that of its linearization, √(Σ (d - R n)² S / (S - 1)) / Σ n over S sentences (Cochran 1977,
    chapter 6), to which the bootstrap over sentences comes with many samples; the distribution is the normal one.

    >>> one_sided_p(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4)).round(3).item()
    0.5
    """
    total, n = queries.sum(), np.count_nonzero(queries)
    if n < 2:
        return np.ones(differences.shape[1:])
    spread = queries.reshape(-1, *[1] * (differences.ndim - 1))
    ratio = differences.sum(axis=0) / total
    error = np.sqrt((np.square(differences - ratio * spread)).sum(axis=0) * n / (n - 1)) / total
    z = np.divide(ratio, error, out=np.where(ratio > 0, np.inf, -np.inf), where=error > 0)
    return np.vectorize(lambda value: 0.5 * math.erfc(value / math.sqrt(2)), otypes=[float])(z)


def holm(p_values: Float[np.ndarray, " test"], level: float = 1 - CONFIDENCE) -> Bool[np.ndarray, " test"]:
    """Mark which tests stand though so many were made: at most `level` is the chance that any of them is false (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [True, False, False]
    """
    order = np.argsort(p_values)
    allowed = level / np.arange(len(p_values), 0, -1)
    failed = np.flatnonzero(p_values[order] > allowed)
    stands = np.zeros(len(p_values), dtype=bool)
    stands[order[: failed[0] if len(failed) else len(order)]] = True
    return stands
