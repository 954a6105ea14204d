"""ROUGE: how much of a reference's words, word pairs and word order a summary has (Lin 2004), as Google's rouge-score does."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any


@dataclass(frozen=True)
class Rouge:
    """F1 of words, of word pairs, and of the longest common subsequence, 0 to 1."""

    one: float
    two: float
    longest: float

    @property
    def mean(self) -> float:
        return (self.one + self.two + self.longest) / 3


def rouge(summary: str, references: Sequence[str]) -> Rouge:
    """Score a summary against the reference that suits it best; words are stemmed (Porter), and cut at all but a–z and 0–9.

    >>> scores = rouge("The cats sat.", ["A dog ran.", "The cat sat down."])
    >>> round(scores.one, 3), round(scores.two, 3), round(scores.longest, 3)
    (0.857, 0.8, 0.857)
    """
    mine = stems(summary)
    scores = [_scores(mine, stems(reference)) for reference in references]
    return Rouge(*(max(kind) for kind in zip(*scores, strict=True)))


@lru_cache(maxsize=32)  # One reference is compared with many summaries.
def stems(text: str) -> tuple[str, ...]:
    """Split a text into words as ROUGE compares them.

    >>> stems("Learning rates, learned!")
    ('learn', 'rate', 'learn')
    """
    return tuple(_tokenizer().tokenize(text))


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, with a bit for each word of `one` (Hyyrö 2004).

    A table of all pairs of words takes minutes for two pages.

    >>> longest_common("a b c d".split(), "x a c y d".split())
    3
    """
    places: dict[str, int] = defaultdict(int)
    for place, word in enumerate(one):
        places[word] |= 1 << place
    full = (1 << len(one)) - 1
    # A zero for each step of the subsequence so far.
    row = full
    for word in other:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & full
    return len(one) - row.bit_count()


def _scores(mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, float, float]:
    overlap = longest_common(mine, theirs)
    return _by_grams(mine, theirs, 1), _by_grams(mine, theirs, 2), _f1(overlap, len(mine), len(theirs))


def _by_grams(mine: Sequence[str], theirs: Sequence[str], n: int) -> float:
    ours, given = (Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (mine, theirs))
    return _f1((ours & given).total(), ours.total(), given.total())


def _f1(overlap: int, mine: int, theirs: int) -> float:
    if not overlap:
        return 0.0
    precision, recall = overlap / mine, overlap / theirs
    return 2 * precision * recall / (precision + recall)


@cache
def _tokenizer() -> Any:
    # Imported when first needed: it brings NLTK along.
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
