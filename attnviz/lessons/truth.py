"""What a right answer is made of: words that are named once, weights that stand clear, and numbers as students type them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.analysis.wording import whole_percent
from attnviz.core.errors import LessonError
from attnviz.core.shares import Shares
from attnviz.core.trace import Token
from attnviz.lessons.picture import LessonPicture
from attnviz.models.result import Result
from attnviz.text.words import visible

# Two weights nearer than this look alike on the screen: which is larger cannot be taught.
LEAST_MARGIN = 0.03


@runtime_checkable
class AnswerSource(Protocol):
    """What a right answer is computed from: results of models, which the app keeps and a shell computes."""

    def result(self, picture: LessonPicture) -> Result:
        """Run the picture's model on its text, with its edits."""
        ...

    def verdict(self, model: str, claim: str) -> ClaimResult:
        """Test a claim about heads over the corpus."""
        ...

    def shares(self, picture: LessonPicture, method: str) -> Shares:
        """Compute by one attribution method what each token was worth to the output."""
        ...


@dataclass(frozen=True)
class Truth:
    """The right answer to a question.

    answer    as a student would write it, the best where several are right; empty: nothing is graded
    sentence  what is said when it is revealed, made of numbers
    accepts   whether an answer is right
    """

    answer: str
    sentence: str
    accepts: Callable[[str], bool]


def same_answer(one: str, other: str) -> bool:
    """Whether two answers are the same but for case, spaces, what is invisible, and a full stop or quotes around them."""
    return plain(one) == plain(other)


def plain(text: str) -> str:
    """Write an answer as it is compared; one that is nothing but a mark stays."""
    words = visible(" ".join(text.casefold().split()))
    return words.strip(" .“”\"'!") or words


def clear_first(weights: Sequence[float] | Float[np.ndarray, " _"], names: Sequence[str]) -> int:
    """Find the largest weight, which has to stand clear of the next."""
    first, *others = (int(at) for at in np.argsort(weights)[::-1])
    if others and weights[first] - weights[others[0]] < LEAST_MARGIN:
        one, other = (f"“{names[at]}” ({whole_percent(float(weights[at]))})" for at in (first, others[0]))
        raise LessonError(f"{one} and {other} are too near to each other to be taught: ask about another word or head.")
    return first


def listed(names: Iterable[str], weights: Iterable[float]) -> str:
    return ", ".join(f"“{name}” {whole_percent(weight)}" for name, weight in zip(names, weights, strict=True))


def as_sentence(text: str) -> str:
    """End a text with a full stop, unless it has an end of its own, within quotes or without.

    >>> as_sentence("The answer is red"), as_sentence("It says “Why?”")
    ('The answer is red.', 'It says “Why?”')
    """
    return text if text.rstrip("”\"'»").endswith((".", "!", "?", "…", "。")) else f"{text}."


def read_number(written: str) -> float | None:
    """Read a share as a student types it; None where it is no number.

    >>> read_number("57 %"), read_number(",57"), read_number("0.57"), read_number("half")
    (0.57, 0.57, 0.57, None)
    """
    match = re.fullmatch(r"\s*([0-9]{0,6}[.,]?[0-9]{1,9})\s*(%?)\s*", written)
    return float(match[1].replace(",", ".")) / (100 if match[2] else 1) if match else None


def words_only(weights: np.ndarray, tokens: Sequence[Token], axis: int) -> np.ndarray:
    """Leave out special tokens, unless there is nothing else: a question asks about words."""
    special = np.array([token.special for token in tokens])
    if special.all():
        return weights
    return np.where(special if axis else special[:, None], -np.inf, weights)
