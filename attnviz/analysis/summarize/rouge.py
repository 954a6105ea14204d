"""ROUGE: how much of a reference's words, word pairs and word order a summary has (Lin 2004), by Google's rouge-score."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

KINDS = ("rouge1", "rouge2", "rougeL")


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
    scores = _scorer().score_multi(list(references), summary)
    return Rouge(*(float(scores[kind].fmeasure) for kind in KINDS))


def stems(text: str) -> list[str]:
    """Split a text into words as ROUGE compares them.

    >>> stems("Learning rates, learned!")
    ['learn', 'rate', 'learn']
    """
    return _tokenizer().tokenize(text)


@cache
def _scorer() -> Any:
    # Imported when first needed: it brings NLTK along.
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(list(KINDS), use_stemmer=True)


@cache
def _tokenizer() -> Any:
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
