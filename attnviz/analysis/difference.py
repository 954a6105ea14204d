"""The difference of two maps over the same tokens, laid out as a map, so that whatever draws a map can draw it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.trace import AttentionMap, WeightStore
from attnviz.core.weights import Slab, whole_slab


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


@dataclass(frozen=True, eq=False)
class DifferenceWeights:
    """After less before, head by head: numbers from -1 to 1, whose rows sum to 0 unless a head was switched off."""

    before: WeightStore
    after: WeightStore

    @property
    def n_layers(self) -> int:
        return self.after.n_layers

    @property
    def n_heads(self) -> int:
        return self.after.n_heads

    @property
    def shape(self) -> tuple[int, int]:
        return self.after.shape

    @property
    def nbytes(self) -> int:
        return 0

    def head(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        return self.after.head(layer, head) - self.before.head(layer, head)

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        return whole_slab(self.head(layer, head))

    def layer(self, layer: int) -> Float[np.ndarray, "head query key"]:
        return self.after.layer(layer) - self.before.layer(layer)

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return self.before.visible(layer)


def difference(before: AttentionMap, after: AttentionMap) -> AttentionMap | None:
    """Subtract the map before from the one after; None where they are not over the same tokens.

    >>> from attnviz.core.trace import DenseWeights, Token
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> maps = [AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[x, 1 - x], [0, 1]]]),))) for x in (0.25, 1.0)]
    >>> difference(*maps).weights(0, 0).tolist()
    [[0.75, -0.75], [0.0, 0.0]]
    """
    if (before.queries, before.keys) != (after.queries, after.keys):
        return None
    return AttentionMap(after.kind, after.queries, after.keys, DifferenceWeights(before.store, after.store), after.causal)


def is_difference(attention: AttentionMap) -> bool:
    """Tell whether a map is the difference of two."""
    return isinstance(attention.store, DifferenceWeights)
