"""How sure a difference is that was measured on some texts: what other texts like these would have shown."""

import numpy as np
from jaxtyping import Float

DRAWS = 1000


def intervals(
    totals: Float[np.ndarray, "text condition"], sizes: Float[np.ndarray, " text"], *, share: float = 0.95
) -> Float[np.ndarray, "2 condition"]:
    """Compute percentile intervals of Σ totals / Σ sizes over texts that are drawn again and again, with replacement.

    Efron 1979, The Annals of Statistics 7(1). The draws are the same every time.

    >>> intervals(np.ones((5, 1)), np.ones(5)).tolist()
    [[1.0], [1.0]]
    """
    dice = np.random.default_rng(1979)
    counts = dice.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=DRAWS)
    drawn = counts @ totals / (counts @ sizes)[:, None]
    tail = (1 - share) / 2
    return np.quantile(drawn, [tail, 1 - tail], axis=0)
