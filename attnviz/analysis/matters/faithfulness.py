"""How far shares tell what matters, measured by taking words away in their order (DeYoung et al. 2020, arXiv:1911.03429)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

# The parts of a text that are taken, or alone kept; the figures are means over them.
PARTS = (0.01, 0.05, 0.10, 0.20, 0.50)


@dataclass(frozen=True, eq=False)
class Faithfulness:
    """How one way did on one text.

    comprehensiveness  by how much p(output) falls when the most important words go: the more, the better
    sufficiency        by how much it falls when only they stay: the less, the better
    tau                rank correlation (Kendall's τ-b) with leaving out one word at a time; None: not asked
    milliseconds       what it took to compute the shares
    """

    way: str
    comprehensiveness: float
    sufficiency: float
    tau: float | None = None
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Removals:
    """p(output) as words go: `gone` of them at each point, the most important first, and the least important first."""

    gone: tuple[int, ...]
    most_first: tuple[float, ...]
    least_first: tuple[float, ...]

    @property
    def nbytes(self) -> int:
        """Bytes that they take, roughly."""
        return 1024


def by_word(values: Float[np.ndarray, " token"], groups: Sequence[tuple[int, ...]]) -> Float[np.ndarray, " word"]:
    """Sum the shares of each word's tokens.

    >>> by_word(np.array([1.0, 2.0, 4.0]), [(0, 1), (2,)])
    array([3., 4.])
    """
    return np.array([values[list(group)].sum() for group in groups])


def order(shares: Float[np.ndarray, " word"]) -> np.ndarray:
    """Rank words, the one that speaks most for the output first; of equal ones, the first.

    >>> order(np.array([0.1, 0.7, -0.2])).tolist()
    [1, 0, 2]
    """
    return np.argsort(-shares, kind="stable")


def count(part: float, n_words: int) -> int:
    """How many words a part of them is, at least one.

    >>> count(0.01, 20), count(0.5, 20)
    (1, 10)
    """
    return min(max(1, round(part * n_words)), n_words)


def removals(
    ranked: np.ndarray, groups: Sequence[tuple[int, ...]], n_tokens: int, counts: Sequence[int]
) -> tuple[Bool[np.ndarray, "text token"], Bool[np.ndarray, "text token"]]:
    """Mark what is taken of a text: its first words, for each count; and all but them."""
    first = np.zeros((len(counts), n_tokens), dtype=bool)
    rest = np.zeros_like(first)
    for row, number in enumerate(counts):
        for place, word in enumerate(ranked):
            (first if place < number else rest)[row, list(groups[word])] = True
    return first, rest


def measured(
    way: str,
    full: float,
    without: Sequence[float] | np.ndarray,
    alone: Sequence[float] | np.ndarray,
    *,
    tau: float | None = None,
    ms: float = 0.0,
) -> Faithfulness:
    """Average p(output) lost without the most important words, and with them alone.

    >>> measured("attention", 1.0, [0.5, 0.0], [0.75, 1.0]).comprehensiveness
    0.75
    """
    comprehensiveness, sufficiency = (float(full - np.mean(each)) for each in (without, alone))
    return Faithfulness(way, comprehensiveness, sufficiency, tau, ms)


def kendall_tau(first: Float[np.ndarray, " word"], second: Float[np.ndarray, " word"]) -> float:
    """Kendall's τ-b: pairs of words that both rank alike less those that they rank the other way round; 0 where one ranks none.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    rows, columns = np.triu_indices(len(first), k=1)
    one, other = (np.sign(each[rows] - each[columns]) for each in (first, second))
    scale = np.sqrt((one != 0).sum() * (other != 0).sum())
    return float((one * other).sum() / scale) if scale else 0.0


def curve(ranked: np.ndarray, n_points: int = 11) -> list[int]:
    """How many words are gone at each point of a curve, from none to all.

    >>> curve(np.arange(4))
    [0, 1, 2, 3, 4]
    """
    return sorted({round(step * len(ranked) / (n_points - 1)) for step in range(n_points)})


# What a way is measured by over a data set, as it is kept and written.
MEASURES = ("comprehensiveness", "sufficiency", "more than chance")


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds that 95 % of resampled means lie in."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float], *, samples: int = 2000, seed: int = 0) -> Interval:
    """Mean and 95 % interval over texts drawn again and again from the same ones (Efron 1979).

    >>> bootstrap([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    given = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(seed).integers(0, len(given), (samples, len(given)))
    low, high = np.percentile(given[drawn].mean(axis=1), [2.5, 97.5])
    return Interval(float(given.mean()), float(low), float(high))


def verdict(figures: Mapping[str, Faithfulness], looked_at: str, best: str, chance: Faithfulness) -> str:
    """Say in one sentence how the way that was looked at did, beside chance and beside the best fast one.

    >>> figures = {"attention": Faithfulness("attention", 0.54, 0.4), "gradient": Faithfulness("gradient", 0.59, 0.3)}
    >>> verdict(figures, "attention", "gradient", Faithfulness("random", 0.32, 0.6))
    'On this text attention finds what matters better than chance (0.54 against 0.32), and worse than gradient (0.59).'
    """
    own, other = figures[looked_at].comprehensiveness, figures[best].comprehensiveness
    against = f"({own:.2f} against {chance.comprehensiveness:.2f})"
    opening = f"On this text {looked_at} finds what matters {_compared(own, chance.comprehensiveness)} chance {against}"
    if looked_at == best:
        return f"{opening}, and no other way that was asked does better."
    return f"{opening}, and {_compared(own, other)} {best} ({other:.2f})."


def _compared(one: float, other: float) -> str:
    # Figures that print alike are alike.
    if round(one, 2) == round(other, 2):
        return "as well as"
    return "better than" if one > other else "worse than"
