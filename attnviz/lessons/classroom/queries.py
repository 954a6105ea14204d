"""What is read of the tables, and changed in them, within one transaction."""

import time
from collections.abc import Collection
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.engine import Connection

from attnviz.core.errors import ClassError
from attnviz.lessons.classroom.class_question import AnswerKey, ClassQuestion, from_record
from attnviz.lessons.classroom.class_values import ClassRound, guesses_of
from attnviz.lessons.classroom.codes import is_token, read_code, token_hash
from attnviz.lessons.classroom.tables import ANSWERS, CLASSES, ROUNDS, STUDENTS

# Seconds after which a class is deleted.
LIFETIME = 86_400
# When this process began, by the clock of the wall and by one that nobody sets.
_BEGAN = time.time() - time.monotonic()


def now() -> float:
    """Tell the seconds since 1970, as the clock said when this process began: one that jumps meanwhile ends no class."""
    return _BEGAN + time.monotonic()


def is_alive() -> Any:
    """Make the condition that a class is not a day old yet."""
    return CLASSES.c.started > now() - LIFETIME


def is_taken(connection: Connection, code: str) -> bool:
    """Whether a class has this code, be it over or not."""
    return connection.execute(select(CLASSES.c.id).where(CLASSES.c.code == code)).first() is not None


def find_class(connection: Connection, code: str, *, locks: bool = False) -> Any:
    """Find a class by its code as it was typed; `locks`: nobody else changes it until the transaction is over."""
    chosen = select(CLASSES).where(CLASSES.c.code == read_code(code), is_alive())
    return connection.execute(chosen.with_for_update() if locks else chosen).first()


def class_of(connection: Connection, code: str, secret: str | None = None, *, locks: bool = False) -> Any:
    """Find a class, where a secret is given as its teacher.

    Raises:
        ClassError: there is none, or the secret is another one's.
    """
    found = find_class(connection, code, locks=locks)
    if found is None:
        raise ClassError("There is no class with this code. Look at the projector again.", "unknown")
    if secret is not None and not is_token(secret, found.secret):
        raise ClassError(
            "This link does not open the class as its teacher: use the one that was given when it was started.", "forbidden"
        )
    return found


def change_class(connection: Connection, code: str, secret: str) -> Any:
    """Find a class that its teacher changes: the phones will have to know."""
    found = class_of(connection, code, secret, locks=True)
    if found.ended:
        raise ClassError("This class has ended: start another one.", "ended")
    connection.execute(update(CLASSES).where(CLASSES.c.id == found.id).values(version=found.version + 1))
    return found


def set_state(connection: Connection, class_id: int, before: Collection[str], after: str) -> None:
    """Give the present question another state, if it has one of those `before`."""
    last = select(func.max(ROUNDS.c.number)).where(ROUNDS.c.class_id == class_id).scalar_subquery()
    present = update(ROUNDS).where(ROUNDS.c.class_id == class_id, ROUNDS.c.number == last, ROUNDS.c.state.in_(before))
    connection.execute(present.values(state=after))


def present_round(connection: Connection, class_id: int) -> Any:
    """Find what was asked last."""
    chosen = select(ROUNDS).where(ROUNDS.c.class_id == class_id).order_by(ROUNDS.c.number.desc()).limit(1)
    return connection.execute(chosen).first()


def read_round(connection: Connection, asked: Any, *, is_over: bool) -> ClassRound:
    """Read a question; with its key and its answers where it is revealed, or its class `is_over`."""
    question = ClassQuestion(**from_record(asked.question))
    if not (is_over or asked.state == "revealed"):
        count = select(func.count()).select_from(ANSWERS).where(ANSWERS.c.round_id == asked.id)
        return ClassRound(asked.number, question, asked.state, connection.scalar(count) or 0)
    chosen = select(ANSWERS.c.answer, ANSWERS.c.is_right).where(ANSWERS.c.round_id == asked.id).order_by(ANSWERS.c.id)
    answers = [(answer, is_right) for answer, is_right in connection.execute(chosen)]
    key = AnswerKey(**from_record(asked.key))
    return ClassRound(asked.number, question, asked.state, len(answers), guesses_of(answers), key)


def find_student(connection: Connection, class_id: int, token: str) -> Any:
    """Find the student of a class who holds a token.

    Raises:
        ClassError: there is none.
    """
    chosen = select(STUDENTS).where(STUDENTS.c.class_id == class_id, STUDENTS.c.token == token_hash(token))
    if (found := connection.execute(chosen).first()) is None:
        raise ClassError("This phone has not joined the class: type its code again.", "forbidden")
    return found


def find_answer(connection: Connection, round_id: int, student_id: int) -> str | None:
    """Look up what a student has answered; None: nothing."""
    chosen = select(ANSWERS.c.answer).where(ANSWERS.c.round_id == round_id, ANSWERS.c.student_id == student_id)
    return connection.scalar(chosen)


def count_students(connection: Connection, condition: Any) -> int:
    """Count the students of whom a condition holds."""
    return connection.scalar(select(func.count()).select_from(STUDENTS).where(condition)) or 0
