"""What a store of classes gives: each a value that nothing changes afterwards."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from attnviz.lessons.classroom.class_question import AnswerKey, ClassQuestion, WallPicture, to_record

# waiting: nothing has been asked yet; closed: answered no more, and not revealed.
ClassState = Literal["waiting", "open", "closed", "revealed", "ended"]


@dataclass(frozen=True)
class StartedClass:
    """What the teacher holds.

    invite  stands in the QR code: who has it joins, however many wrong codes were typed in the same network
    secret  opens the class as its teacher, from any machine
    """

    code: str
    invite: str
    secret: str


@dataclass(frozen=True)
class Guess:
    """One answer that was given, how often, and whether it is right (None: nobody grades it)."""

    answer: str
    count: int
    is_right: bool | None


@dataclass(frozen=True)
class ClassOverview:
    """What a projector may show. `results`, the most frequent first, and `key` are there once the question is revealed.

    version   grows with all that the phones have to know
    number    of the question, from 1; 0: nothing has been asked
    here      students whose phone was heard of within the last minute
    joined    students at all
    answered  answers to this question
    """

    code: str
    version: int
    state: ClassState
    nicknames: bool
    number: int = 0
    question: ClassQuestion | None = None
    here: int = 0
    joined: int = 0
    answered: int = 0
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None

    def for_phones(self) -> dict[str, Any]:
        """Write what every phone of the class receives. What was written in words stays with the teacher."""
        phones: dict[str, Any] = {"code": self.code, "version": self.version, "state": self.state, "number": self.number}
        phones["nicknames"] = self.nicknames
        if self.question is not None and self.state != "ended":
            record = to_record(self.question)
            # A phone has no room for the picture, and 500 phones receive this.
            record["step"] = {name: record["step"][name] for name in ("place", "title", "text", "head", "reveals")}
            phones["question"] = record
        if self.key is not None and self.state == "revealed":
            is_open = self.question is not None and self.question.kind == "text"
            guesses = [] if is_open else [[each.answer, each.count, each.is_right] for each in self.results]
            truth = to_record(self.key)
            del truth["picture"]
            phones["truth"] = {**truth, "answered": self.answered, "guesses": guesses}
        return phones

    @property
    def picture(self) -> WallPicture | None:
        """What a wall draws beside the question: with what was hidden, once that is revealed."""
        if self.question is None or self.state == "ended":
            return None
        revealed = self.key.picture if self.key is not None and self.state == "revealed" else None
        return revealed or self.question.step.picture


@dataclass(frozen=True)
class ClassRound:
    """One question that was asked. `key` and `results` are there once it is revealed, or the class has ended."""

    number: int
    question: ClassQuestion
    state: ClassState
    answered: int
    results: tuple[Guess, ...] = ()
    key: AnswerKey | None = None


@dataclass(frozen=True)
class ClassStudent:
    """One phone of a class.

    round   the number of the present question, 0: nothing has been asked
    answer  what this student has answered to it; None: nothing
    """

    id: int
    number: int
    nickname: str
    round: int = 0
    answer: str | None = None


def guesses_of(answers: Iterable[tuple[str, bool | None]]) -> tuple[Guess, ...]:
    """Count equal answers, the most frequent first.

    >>> guesses_of([("it", False), ("cat", True), ("cat", True)])[0]
    Guess(answer='cat', count=2, is_right=True)
    """
    counted = Counter(answers)
    return tuple(Guess(answer, count, right) for (answer, right), count in counted.most_common())
