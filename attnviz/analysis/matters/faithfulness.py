"""Faithfulness of attributions, measured by masking words in the order of their shares (DeYoung et al. 2020, arXiv:1911.03429).

An `AttributionReport` has all that the page Matters shows of one text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.wording import signed

# The parts of a text that are masked, or alone kept; the figures are means over them.
PARTS = (0.01, 0.05, 0.10, 0.20, 0.50)
# The measures of a method over a data set, as they are stored and written.
MEASURES = ("comprehensiveness", "sufficiency", "more than chance")


@dataclass(frozen=True)
class Faithfulness:
    """How faithful one method is on one text.

    comprehensiveness  by how much p(output) falls when the most important words go: the more, the better
    sufficiency        by how much it falls when only they stay: the less, the better
    tau                rank correlation (Kendall's τ-b) with leaving out one word at a time; None: not measured
    milliseconds       what it took to compute the shares
    """

    comprehensiveness: float
    sufficiency: float
    tau: float | None = None
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Removals:
    """p(output) as words are masked: `gone` of them at each point, the most important first, and the least important first."""

    gone: tuple[int, ...]
    most_first: tuple[float, ...]
    least_first: tuple[float, ...]


def by_word(values: Float[np.ndarray, " token"], groups: Sequence[tuple[int, ...]]) -> Float[np.ndarray, " word"]:
    """Sum the shares of each word's tokens.

    >>> by_word(np.array([1.0, 2.0, 4.0]), [(0, 1), (2,)])
    array([3., 4.])
    """
    return np.array([values[list(group)].sum() for group in groups])


def most_important_first(shares: Float[np.ndarray, " word"]) -> np.ndarray:
    """Rank words by their shares, the largest first; of equal ones, the first.

    >>> most_important_first(np.array([0.1, 0.7, -0.2])).tolist()
    [1, 0, 2]
    """
    return np.argsort(-shares, kind="stable")


def counts_of(n_words: int) -> list[int]:
    """Count the words of each of the `PARTS` of a text, at least one.

    >>> counts_of(20)
    [1, 1, 2, 4, 10]
    """
    return [min(max(1, round(part * n_words)), n_words) for part in PARTS]


def curve_points(n_words: int) -> list[int]:
    """List how many words are gone at each point of a curve, from none to all.

    >>> curve_points(4)
    [0, 1, 2, 3, 4]
    """
    return sorted({round(step * n_words / 10) for step in range(11)})


def removed_tokens(
    ranked: np.ndarray, groups: Sequence[tuple[int, ...]], n_tokens: int, counts: Sequence[int]
) -> tuple[Bool[np.ndarray, "text token"], Bool[np.ndarray, "text token"]]:
    """Mark the tokens to mask for each count: those of the first words; and all but them.

    >>> first, rest = removed_tokens(np.array([1, 0]), [(0, 1), (2,)], 4, [1])
    >>> first.astype(int).tolist(), rest.astype(int).tolist()
    ([[0, 0, 1, 0]], [[1, 1, 0, 0]])
    """
    first = np.zeros((len(counts), n_tokens), dtype=bool)
    rest = np.zeros_like(first)
    for row, number in enumerate(counts):
        for place, word in enumerate(ranked):
            (first if place < number else rest)[row, list(groups[word])] = True
    return first, rest


def kendall_tau(first: Float[np.ndarray, " word"], second: Float[np.ndarray, " word"]) -> float:
    """Compute Kendall's τ-b, the rank correlation of two orders of the same words; 0 where one ranks none.

    >>> round(kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])), 9)
    0.333333333
    """
    # Of each word with all others: in how many pairs the orders agree less differ, and how many are not tied in each.
    pairs = ((np.sign(first - one), np.sign(second - other)) for one, other in zip(first, second, strict=True))
    sums = np.sum([(one @ other, one @ one, other @ other) for one, other in pairs], axis=0)
    return float(sums[0] / np.sqrt(sums[1] * sums[2])) if sums[1] and sums[2] else 0.0


def verdict(figures: Mapping[str, Faithfulness], chosen: str, best: str | None, chance: Faithfulness) -> str:
    """Compare in one sentence the chosen method with chance, and with the best fast one, if that is known.

    >>> figures = {"attention": Faithfulness(0.54, 0.4), "gradient": Faithfulness(0.59, 0.3)}
    >>> said = verdict(figures, "attention", "gradient", Faithfulness(0.32, 0.6))
    >>> for part in said.replace(": without", ". without").split(". "):
    ...     print(part)
    attention is better than chance here
    without the words it ranks first the probability drops by 0.54, without random words by 0.32
    The best method, gradient: 0.59.
    >>> verdict(figures, "gradient", "gradient", Faithfulness(-0.06, 0.6)).split("drops by ")[1]
    '0.59, without random words by −0.06. No other method tested does better.'
    """
    own = figures[chosen].comprehensiveness
    said = f"{chosen} is {_compared(own, chance.comprehensiveness)} chance here: without the words it ranks first "
    said += f"the probability drops by {signed(own)}, without random words by {signed(chance.comprehensiveness)}."
    if best is None:
        return said
    if chosen == best:
        return f"{said} No other method tested does better."
    return f"{said} The best method, {best}: {signed(figures[best].comprehensiveness)}."


def _compared(one: float, other: float) -> str:
    # Figures that print alike are alike.
    if round(one, 2) == round(other, 2):
        return "as good as"
    return "better than" if one > other else "worse than"


@dataclass(frozen=True, eq=False)
class AttributionReport:
    """The shares of one text by several methods, and how faithful each is.

    own      the places of the output's own words, which are never masked
    targets  the parts of the output that can be explained, and what each is called
    part     which part of a long text this is about, in words; empty: all of it
    """

    target: str
    probability: float
    words: tuple[str, ...]
    own: frozenset[int]
    shares: Mapping[str, np.ndarray]
    figures: Mapping[str, Faithfulness]
    refused: Mapping[str, str]
    targets: Mapping[str, str] = field(default_factory=dict)
    part: str = ""

    def joined(self, other: "AttributionReport") -> "AttributionReport":
        """Add the figures of other methods on the same text."""
        parts = {name: {**getattr(self, name), **getattr(other, name)} for name in ("shares", "figures", "refused")}
        return replace(self, **parts)

    def agreement(self, name: str) -> float | None:
        """Kendall's τ of a method with leaving one word out, over the words that can be masked; None: not computed."""
        if (left_out := self.shares.get("leave-one-out")) is None or name not in self.shares:
            return None
        return kendall_tau(self.shares[name][self._removable], left_out[self._removable])

    def ranked(self, name: str) -> tuple[int, ...]:
        """Rank the places of the words that can be masked, the largest share first."""
        places = self._removable
        return tuple(places[rank] for rank in most_important_first(self.shares[name][places]).tolist())

    @property
    def _removable(self) -> list[int]:
        return [place for place in range(len(self.words)) if place not in self.own]


@dataclass(frozen=True)
class MaskedOutput:
    """A model's output with some words masked: p of its former output, and its new output, if that is text."""

    probability: float
    text: str | None
