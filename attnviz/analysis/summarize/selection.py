"""A text as words and sentences that can be kept or left out, and the choice of those with the highest scores."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.token_words import whole_words
from attnviz.core.errors import TraceError
from attnviz.core.trace import Token
from attnviz.text.sentences import Sentences

Units = Bool[np.ndarray, " unit"]


@dataclass(frozen=True, eq=False)
class Passage:
    """A text as a model has read it.

    units      whole words, or the model's tokens, in the order of the text; special tokens are none of them
    parts      for each unit the positions of its tokens
    candidate  True for units that may be kept
    sentences  where each sentence starts and ends; `sentence` has for each unit the number of its own
    """

    text: str
    units: tuple[Token, ...]
    parts: tuple[tuple[int, ...], ...]
    candidate: Units
    sentences: tuple[tuple[int, int], ...]
    sentence: tuple[int, ...]

    @property
    def read(self) -> Bool[np.ndarray, " sentence"]:
        """True for sentences with a unit that may be kept: not where the model has stopped reading, nor for a lone "…"."""
        read = np.zeros(len(self.sentences), dtype=bool)
        read[[number for number, can in zip(self.sentence, self.candidate, strict=True) if can]] = True
        return read

    def by_unit(self, tokens: Float[np.ndarray, " key"]) -> Float[np.ndarray, " unit"]:
        """Sum over the tokens of each unit what they receive."""
        places, units, _ = self._places
        return np.bincount(units, weights=tokens[places], minlength=len(self.units))

    def by_sentence(self, tokens: Float[np.ndarray, " key"], *, mean: bool = False) -> Float[np.ndarray, " sentence"]:
        """Compute each sentence's share of what all of them receive, 0 to 1; or the mean over its tokens."""
        places, _, numbers = self._places
        total = np.bincount(numbers, weights=tokens[places], minlength=len(self.sentences))
        if mean:
            return total / np.maximum(np.bincount(numbers, minlength=len(self.sentences)), 1)
        return total / max(total.sum(), np.finfo(float).tiny)

    @cached_property
    def _places(self) -> tuple[Int[np.ndarray, " token"], Int[np.ndarray, " token"], Int[np.ndarray, " token"]]:
        """Every token that is part of a unit: where it stands in the map, its unit, and its sentence."""
        rows = [(place, unit, self.sentence[unit]) for unit, parts in enumerate(self.parts) for place in parts]
        places, units, numbers = np.array(rows).T
        return places, units, numbers

    def words(self, kept: Units) -> str:
        """Write the kept units as running text, those that touch in the text unparted."""
        text, end = "", 0
        for unit, on in zip(self.units, kept, strict=True):
            if on:
                text += ("" if unit.start == end else " ") + self.text[unit.start : unit.end]
                end = unit.end
        return text.strip()

    def extract(self, kept: Bool[np.ndarray, " sentence"]) -> str:
        """Join the kept sentences, as they were typed."""
        return " ".join(self.text[start:end] for (start, end), on in zip(self.sentences, kept, strict=True) if on)


def read_passage(
    text: str, tokens: tuple[Token, ...], *, words: bool = True, punctuation: bool = False, sentences: Sentences | None = None
) -> Passage:
    """Split a text that a model reads as `tokens` into units; without `punctuation` only words may be kept.

    Raises:
        TraceError: there is nothing in it that may be kept.

    >>> passage = read_passage("Hi there!", (Token("Hi", 0, 2), Token("there", 3, 8), Token("!", 8, 9)))
    >>> [unit.text for unit in passage.units], passage.candidate.tolist()
    (['Hi', 'there', '!'], [True, True, False])
    """
    sentences = sentences or Sentences.of(text)
    groups = whole_words(tokens) if words else [((index,), token) for index, token in enumerate(tokens)]
    units = [(parts, token) for parts, token in groups if not token.special and token.end > token.start]
    candidate = np.array([punctuation or is_word(token) for _, token in units], dtype=bool)
    if not candidate.any():
        raise TraceError("There is no word in this text that could be kept: type a sentence.")
    return Passage(
        text,
        tuple(token for _, token in units),
        tuple(parts for parts, _ in units),
        candidate,
        sentences.spans,
        tuple(sentences.at(token.start) for _, token in units),
    )


def top(scores: Float[np.ndarray, " unit"], k: int, candidate: Units) -> Units:
    """Mark true for the k candidates of the highest scores, of equal ones the first; for all of them where there are fewer.

    >>> top(np.array([0.9, 0.1, 0.3, 0.3]), 1, np.array([False, True, True, True])).tolist()
    [False, False, True, False]
    """
    ranked = np.argsort(-np.where(candidate, scores, -np.inf), kind="stable")
    kept = np.zeros(len(scores), dtype=bool)
    kept[ranked[: max(k, 0)]] = True
    return kept & candidate


@dataclass(frozen=True)
class Amount:
    """How much to keep: `words` of them, or with `share` True that many percent of those there are; and `sentences`."""

    words: int
    sentences: int = 1
    share: bool = False

    def count(self, passage: Passage) -> int:
        """Count the units to keep: at least one, at most all that may be kept.

        >>> passage = read_passage("one two three", (Token("one", 0, 3), Token("two", 4, 7), Token("three", 8, 13)))
        >>> Amount(50, share=True).count(passage), Amount(99).count(passage)
        (2, 3)
        """
        n_candidates = int(passage.candidate.sum())
        return min(max(round(self.words / 100 * n_candidates) if self.share else self.words, 1), n_candidates)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen of a passage: its units, and its sentences."""

    units: Units
    sentences: Bool[np.ndarray, " sentence"]


def choose(
    passage: Passage, unit_scores: Float[np.ndarray, " unit"], sentence_scores: Float[np.ndarray, " sentence"], amount: Amount
) -> Selection:
    """Select the units and the sentences of the highest scores."""
    return Selection(
        top(unit_scores, amount.count(passage), passage.candidate), top(sentence_scores, max(amount.sentences, 1), passage.read)
    )
