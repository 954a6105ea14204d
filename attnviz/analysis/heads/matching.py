"""Which words of a sentence a claim is about, and where it says that they look."""

import time
from functools import cache

import numpy as np
from jaxtyping import Bool

from attnviz.analysis.heads.claim import Claim, ClaimTerm, compiled
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ClaimError
from attnviz.text.conllu import ParsedSentence

# A regular expression gets so long for one claim, and for one word: a bad one would never end.
REGEX_SECONDS, WORD_SECONDS = 2.0, 0.2
Cells = Bool[np.ndarray, "word unit"]


class Clock:
    """The regular expressions of one claim, and what is left of the time that they may take."""

    def __init__(self, seconds: float = REGEX_SECONDS) -> None:
        self.left = seconds
        self._compiled = cache(compiled)

    def search(self, expression: str, text: str) -> bool:
        """Look for the expression in a word.

        Raises:
            ClaimError: the time is over.
        """
        cancellation_point()
        begun = time.monotonic()
        try:
            if self.left <= 0:
                raise TimeoutError
            return self._compiled(expression).search(text, timeout=min(self.left, WORD_SECONDS)) is not None
        except (TimeoutError, MemoryError):
            raise ClaimError(
                f"The regular expression /{expression}/ takes longer than {REGEX_SECONDS:g} seconds, or {WORD_SECONDS:g} for a "
                "single word: make it simpler, with fewer stars inside of stars."
            ) from None
        finally:
            self.left -= time.monotonic() - begun


def sources(claim: Claim, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, " unit"]:
    """Mark the units whose attention the claim is about; special tokens stand after the words."""
    matching = np.zeros(n_units, dtype=bool)
    for term in claim.source:
        matching |= _members(term, sentence, n_units, clock)
    return matching


def targets(claim: Claim, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, "unit unit"]:
    """Mark for each unit where the claim says that it looks; itself never, unless the claim says so."""
    cells = np.zeros((n_units, n_units), dtype=bool)
    for term in claim.target:
        if term.kind in _PLACED:
            cells |= _PLACED[term.kind](term, sentence, n_units)
        else:
            cells |= _members(term, sentence, n_units, clock)[None, :]
    if not any(term.kind == "self" for term in claim.target):
        np.fill_diagonal(cells, False)
    return cells


def _members(term: ClaimTerm, sentence: ParsedSentence, n_units: int, clock: Clock) -> Bool[np.ndarray, " unit"]:
    """Mark the units that are what a term names."""
    words, matching = sentence.words, np.zeros(n_units, dtype=bool)
    if term.kind == "special":
        matching[len(words) :] = True
    elif term.kind == "pronoun":
        matching[[] if sentence.pronoun is None else [sentence.pronoun]] = True
    elif term.kind in ("first", "last"):
        matching[:1] |= bool(words) and term.kind == "first"
        matching[len(words) - 1 : len(words)] |= term.kind == "last"
    elif term.kind == "regex":
        matching[: len(words)] = [clock.search(term.value, word.text) for word in words]
    else:
        matching[: len(words)] = [_is(term, word.text, word.pos, word.relation) for word in words]
    return matching


def _is(term: ClaimTerm, text: str, pos: str, relation: str) -> bool:
    if term.kind == "any":
        return True
    if term.kind == "pos":
        return pos == term.value
    if term.kind == "relation":
        return is_relation(relation, term.value)
    return text.casefold() == term.value


def is_relation(relation: str, wanted: str) -> bool:
    """Whether a word's relation is the wanted one; one without a subtype stands for all of its subtypes.

    >>> is_relation("nsubj:pass", "nsubj"), is_relation("nsubj", "nsubj:pass")
    (True, False)
    """
    return relation == wanted if ":" in wanted else relation.partition(":")[0] == wanted


def _offset(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells = np.zeros((n_units, n_units), dtype=bool)
    n_words = len(sentence.words)
    cells[:n_words, :n_words] = np.eye(n_words, k=term.offset, dtype=bool)
    return cells


def _self(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    return np.eye(n_units, dtype=bool)


def _head(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells = np.zeros((n_units, n_units), dtype=bool)
    for index, word in enumerate(sentence.words):
        if word.head is not None:
            cells[index, word.head] = True
    return cells


def _dependent(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells = np.zeros((n_units, n_units), dtype=bool)
    for index, word in enumerate(sentence.words):
        if word.head is not None and is_relation(word.relation, term.value):
            cells[word.head, index] = True
    return cells


def _same(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells = np.zeros((n_units, n_units), dtype=bool)
    forms = np.array([word.text.casefold() for word in sentence.words], dtype=object)
    n_words = len(forms)
    cells[:n_words, :n_words] = np.tri(n_words, k=-1, dtype=bool) & (forms[:, None] == forms[None, :])
    return cells


def _after_same(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells, n_words = _same(term, sentence, n_units), len(sentence.words)
    cells[:, 1:n_words] = cells[:, : max(n_words - 1, 0)]
    cells[:, 0] = False
    return cells


def _antecedent(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    cells = np.zeros((n_units, n_units), dtype=bool)
    if sentence.pronoun is not None and sentence.antecedent is not None:
        cells[sentence.pronoun, sentence.antecedent] = True
    return cells


_PLACED = {
    "offset": _offset, "self": _self, "head": _head, "dependent": _dependent, "same": _same, "after same": _after_same,
    "antecedent": _antecedent,
}  # fmt: skip
