"""Which words of a sentence a claim is about, and where it says that they look."""

import time
from contextlib import suppress
from functools import cache

import numpy as np
from jaxtyping import Bool

from attnviz.analysis.heads.claim import Claim, ClaimTerm, compiled
from attnviz.core.cancellation import cancellation_point
from attnviz.core.errors import ClaimError
from attnviz.text.conllu import ParsedSentence

# So many seconds of the processor a regular expression gets for one claim, and for one word: a bad one would never end. For the
# last of these no other thread of the server runs.
REGEX_SECONDS, WORD_SECONDS, ALONE_SECONDS = 2.0, 0.2, 0.005
# Terms that name another place for each word.
_RELATIVE = ("offset", "self", "head", "dependent", "same", "after same", "antecedent")
Cells = Bool[np.ndarray, "word unit"]


class Clock:
    """The regular expressions of one claim, what was found with them, and what is left of the time that they may take.

    The time is the processor's: on a server that many use, a simple expression waits long and computes little.
    """

    def __init__(self, seconds: float = REGEX_SECONDS) -> None:
        self.left = seconds
        self._compiled = cache(compiled)
        self._found: dict[tuple[str, str], bool] = {}

    def search(self, expression: str, text: str) -> bool:
        """Look for the expression in a word.

        Raises:
            ClaimError: the time is over.
        """
        if (found := self._found.get((expression, text))) is not None:
            return found
        cancellation_point()
        begun = time.thread_time()
        try:
            found = self._found[expression, text] = self._search(expression, text)
        except (TimeoutError, MemoryError):
            raise ClaimError(
                f"The regular expression /{expression}/ takes longer than {REGEX_SECONDS:g} seconds, or {WORD_SECONDS:g} for a "
                "single word: make it simpler, with fewer stars inside of stars."
            ) from None
        finally:
            self.left -= time.thread_time() - begun
        return found

    def _search(self, expression: str, text: str) -> bool:
        if self.left <= 0:
            raise TimeoutError
        search = self._compiled(expression).search
        # To let other threads run and to wait for one's turn again takes a thousand times as long as most searches.
        with suppress(TimeoutError):
            return search(text, timeout=ALONE_SECONDS, concurrent=False) is not None
        return search(text, timeout=min(self.left, WORD_SECONDS), concurrent=True) is not None


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
        if term.kind in _RELATIVE:
            cells |= _cells(term, sentence, n_units)
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


def is_relation(relation: str, expected: str) -> bool:
    """Whether a word's relation is the expected one; one without a subtype stands for all of its subtypes.

    >>> is_relation("nsubj:pass", "nsubj"), is_relation("nsubj", "nsubj:pass")
    (True, False)
    """
    return relation == expected if ":" in expected else relation.partition(":")[0] == expected


def _cells(term: ClaimTerm, sentence: ParsedSentence, n_units: int) -> Cells:
    """Mark where a term says that each unit looks, whose place depends on the unit."""
    words, n_words = sentence.words, len(sentence.words)
    cells = np.zeros((n_units, n_units), dtype=bool)
    among_words = cells[:n_words, :n_words]
    if term.kind == "self":
        np.fill_diagonal(cells, True)
    elif term.kind == "offset":
        among_words[:] = np.eye(n_words, k=term.offset, dtype=bool)
    elif term.kind in ("same", "after same"):
        forms = np.array([word.text.casefold() for word in words], dtype=object)
        earlier = np.tri(n_words, k=-1, dtype=bool) & (forms[:, None] == forms[None, :])
        among_words[:] = earlier if term.kind == "same" else np.pad(earlier, ((0, 0), (1, 0)))[:, :n_words]
    elif term.kind == "antecedent":
        if sentence.pronoun is not None and sentence.antecedent is not None:
            cells[sentence.pronoun, sentence.antecedent] = True
    else:
        for index, word in enumerate(words):
            if word.head is not None and term.kind == "head":
                cells[index, word.head] = True
            elif word.head is not None and is_relation(word.relation, term.value):
                cells[word.head, index] = True
    return cells
