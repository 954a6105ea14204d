"""The right answer to a question, and what it is computed from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from attnviz.analysis.heads.verdict import ClaimResult
from attnviz.core.shares import Shares
from attnviz.lessons.picture_link import LessonPicture
from attnviz.models.result import Result


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
