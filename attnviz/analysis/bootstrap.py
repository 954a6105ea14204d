"""Bootstrap intervals of figures measured on some texts (Efron 1979)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds that 95 % of resampled means lie in."""

    mean: float
    low: float
    high: float


def bootstrap(
    totals: Float[np.ndarray, "text *condition"],
    sizes: Float[np.ndarray, " text"],
    *,
    draws: int = 1000,
    seed: int = 1979,
    one_by_one: bool = False,
) -> Float[np.ndarray, "2 *condition"]:
    """Compute 95 % intervals of Σ totals / Σ sizes over texts that are drawn again and again, with replacement.

    The draws are the same every time. `one_by_one` draws them as the figures on the models' cards were drawn: text after text,
    not how often each comes. Of no texts at all nothing is known: 0 to 1.

    >>> bootstrap(np.ones((5, 1)), np.ones(5)).tolist()
    [[1.0], [1.0]]
    """
    n, dice = len(sizes), np.random.default_rng(seed)
    if not n:
        return np.stack([np.zeros(totals.shape[1:]), np.ones(totals.shape[1:])])
    if one_by_one:
        counts = np.array([np.bincount(row, minlength=n) for row in dice.integers(0, n, (draws, n))])
    else:
        counts = dice.multinomial(n, np.full(n, 1 / n), size=draws)
    ratios = counts @ totals.reshape(n, -1) / np.maximum(counts @ sizes, 1)[:, None]
    return np.quantile(ratios, [0.025, 0.975], axis=0).reshape(2, *totals.shape[1:])


def mean_interval(values: Sequence[float]) -> Interval:
    """Average over texts, with its 95 % interval.

    >>> mean_interval([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    array = np.asarray(values, dtype=float)
    low, high = bootstrap(array, np.ones(len(array)), draws=2000, seed=0, one_by_one=True)
    return Interval(float(array.mean()), float(low), float(high))
