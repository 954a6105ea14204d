"""The store of classes: who is in which class, what was asked, who answered what. Every function is one transaction."""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import delete, exists, func, insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from attnviz.core.errors import BusyError, ClassError
from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.lessons.classroom import queries
from attnviz.lessons.classroom.class_question import AnswerKey, ClassQuestion, from_record, to_record
from attnviz.lessons.classroom.class_values import ClassOverview, ClassRound, ClassStudent, StartedClass
from attnviz.lessons.classroom.codes import is_token, new_code, new_token, token_hash
from attnviz.lessons.classroom.nicknames import read_nickname
from attnviz.lessons.classroom.queries import now
from attnviz.lessons.classroom.tables import ANSWERS, CLASSES, ROUNDS, STUDENTS, ended_when_late, open_database

# Seconds for which a phone counts as here.
PRESENCE = 60
# Phones of one class, questions of one class, classes of one store.
MOST_STUDENTS, MOST_ROUNDS, MOST_CLASSES = 500, 200, 500
COLUMNS = ("question", "asked", "student", "nickname", "answer", "right", "seconds")


class ClassStore:
    """Classes in a database. Safe to use from many threads, and from several processes at once."""

    def __init__(self, address: str) -> None:
        """Open the store at an address of SQLAlchemy's, such as "sqlite:////tmp/classes.sqlite".

        Raises:
            SettingError: there is no such database, or nothing can be written there.
        """
        self._reads = open_database(address)
        self._writes = self._reads.execution_options(writes=True)
        # SQLite lets one write at a time, and who waits there sleeps too long: within a process they wait here.
        self._turn = threading.Lock() if self._reads.dialect.name == "sqlite" else nullcontext()

    def dispose(self) -> None:
        """Close every connection."""
        self._reads.dispose()

    # What only the teacher does.

    def start(self, *, nicknames: bool = False) -> StartedClass:
        """Start a class; classes that are older than a day are deleted.

        Raises:
            BusyError: this store has as many classes as it takes.
        """
        invite, secret = new_token()[:8], new_token()
        with self._writing() as connection:
            self._make_room(connection)
            while queries.is_taken(connection, code := new_code()):
                pass
            record = {"code": code, "secret": token_hash(secret), "invite": token_hash(invite), "nicknames": nicknames}
            connection.execute(insert(CLASSES).values(**record, started=now(), version=1, ended=False))
        return StartedClass(code, invite, secret)

    def ask(self, code: str, secret: str, question: ClassQuestion, key: AnswerKey) -> int:
        """Ask a class, and close what was asked before; gives the question's number.

        Raises:
            ClassError: there is no such class, the secret is another one's, or too much was asked.
        """
        with self._writing() as connection:
            found = queries.change_class(connection, code, secret)
            queries.set_state(connection, found.id, ("open",), "closed")
            number = 1 + (connection.scalar(select(func.max(ROUNDS.c.number)).where(ROUNDS.c.class_id == found.id)) or 0)
            if number > MOST_ROUNDS:
                raise ClassError(f"A class is asked {MOST_ROUNDS} questions at most: start another one.", "full")
            record = {"question": to_record(question), "key": to_record(key), "opened": now()}
            connection.execute(insert(ROUNDS).values(class_id=found.id, number=number, state="open", **record))
        return number

    def close(self, code: str, secret: str) -> None:
        """Take no further answers to the present question.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            queries.set_state(connection, queries.change_class(connection, code, secret).id, ("open",), "closed")

    def reveal(self, code: str, secret: str) -> None:
        """Show the class the right answer to the present question, and what was guessed.

        Raises:
            ClassError: there is no such class, the secret is another one's, or the question's lesson says "reveal: no".
        """
        with self._writing() as connection:
            found = queries.change_class(connection, code, secret)
            last = queries.present_round(connection, found.id)
            if last and not ClassQuestion(**from_record(last.question)).step.reveals:
                raise ClassError("The lesson of this question says “reveal: no”: its answer is only in your table of answers.")
            queries.set_state(connection, found.id, ("open", "closed"), "revealed")

    def end(self, code: str, secret: str) -> None:
        """End a class; its answers stay for the teacher until its day is over.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            found = queries.change_class(connection, code, secret)
            queries.set_state(connection, found.id, ("open",), "closed")
            connection.execute(update(CLASSES).where(CLASSES.c.id == found.id).values(ended=True))

    def delete(self, code: str, secret: str) -> None:
        """Delete a class with all that was answered.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            connection.execute(delete(CLASSES).where(CLASSES.c.id == queries.class_of(connection, code, secret).id))

    def remove_silent(self, code: str, secret: str) -> None:
        """Remove the phones of a class that never answered; those that are in use join again by themselves, unseen.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            found = queries.change_class(connection, code, secret)
            connection.execute(delete(STUDENTS).where(STUDENTS.c.class_id == found.id, _is_silent()))

    def overview(self, code: str, secret: str | None = None) -> ClassOverview:
        """Tell what a projector and the phones may show now.

        Raises:
            ClassError: there is no such class, or a secret is given and another one's.
        """
        with self._reading() as connection:
            found = queries.class_of(connection, code, secret)
            last = queries.present_round(connection, found.id)
            of_class = STUDENTS.c.class_id == found.id
            joined = queries.count_students(connection, of_class)
            here = queries.count_students(connection, of_class & (STUDENTS.c.seen > now() - PRESENCE))
            common: Any = {"code": found.code, "version": found.version, "nicknames": found.nicknames}
            state = "ended" if found.ended else last.state if last else "waiting"
            if last is None:
                return ClassOverview(**common, state=state, here=here, joined=joined)
            asked = queries.read_round(connection, last, is_over=False)
        return ClassOverview(
            **common, state=state, number=asked.number, question=asked.question, here=here, joined=joined,
            answered=asked.answered, results=asked.results, key=asked.key,
        )  # fmt: skip

    def history(self, code: str, secret: str) -> tuple[ClassRound, ...]:
        """List all that was asked, the first first.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._reading() as connection:
            found = queries.class_of(connection, code, secret)
            rounds = connection.execute(select(ROUNDS).where(ROUNDS.c.class_id == found.id).order_by(ROUNDS.c.number))
            return tuple(queries.read_round(connection, each, is_over=found.ended) for each in rounds.all())

    def csv(self, code: str, secret: str) -> bytes:
        """Write a table of all answers; what is right is told once it is revealed, or the class has ended.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._reading() as connection:
            found = queries.class_of(connection, code, secret)
            joined = ANSWERS.join(ROUNDS).join(STUDENTS)
            columns = (ROUNDS.c.number, ROUNDS.c.question, STUDENTS.c.number.label("student"), STUDENTS.c.nickname)
            chosen = select(*columns, ROUNDS.c.state, ANSWERS).select_from(joined).where(ROUNDS.c.class_id == found.id)
            answers = connection.execute(chosen.order_by(ROUNDS.c.number, STUDENTS.c.number)).all()
        rows = []
        for each in answers:
            right = {True: "yes", False: "no"}.get(each.is_right, "") if found.ended or each.state == "revealed" else ""
            seconds = NumberCell(round(each.seconds, 1))
            rows.append((each.number, each.question["ask"], each.student, each.nickname, each.answer, right, seconds))
        return csv_table(COLUMNS, rows)

    # What students do.

    def join(self, code: str, nickname: str = "") -> str:
        """Join a class; gives the token by which this student is known from now on.

        Raises:
            ClassError: there is no such class, it has ended or is full, or the nickname cannot be shown.
        """
        token = new_token()
        with self._writing() as connection:
            found = queries.class_of(connection, code, locks=True)
            if found.ended:
                raise ClassError("This class has ended.", "ended")
            name = read_nickname(nickname) if found.nicknames else ""
            in_class = STUDENTS.c.class_id == found.id
            if queries.count_students(connection, in_class) >= MOST_STUDENTS:
                # Phones that joined and were never heard of again make room.
                connection.execute(delete(STUDENTS).where(in_class, _is_silent(), STUDENTS.c.seen < now() - PRESENCE))
            number = 1 + (connection.scalar(select(func.max(STUDENTS.c.number)).where(in_class)) or 0)
            if queries.count_students(connection, in_class) >= MOST_STUDENTS:
                raise ClassError(f"This class is full: it takes {MOST_STUDENTS} phones.", "full")
            record = {"number": number, "token": token_hash(token), "nickname": name, "seen": now()}
            connection.execute(insert(STUDENTS).values(class_id=found.id, **record))
        return token

    def is_invited(self, code: str, invite: str) -> bool:
        """Whether this is what stands in the QR code of that class."""
        with self._reading() as connection:
            found = queries.find_class(connection, code)
            return found is not None and is_token(invite, found.invite)

    def student(self, code: str, token: str) -> ClassStudent:
        """Tell who holds a token, and what they have answered to the present question.

        Raises:
            ClassError: there is no such class, or nobody of it holds this token.
        """
        with self._reading() as connection:
            found = queries.class_of(connection, code)
            student, last = queries.find_student(connection, found.id, token), queries.present_round(connection, found.id)
            given = queries.find_answer(connection, last.id, student.id) if last else None
        return ClassStudent(student.id, student.number, student.nickname, last.number if last else 0, given)

    def answer(self, code: str, token: str, number: int, answer: str) -> str:
        """Keep a student's answer to question `number`; gives the answer that is kept. The same again changes nothing.

        Raises:
            ClassError: nobody of the class holds this token, the question is not open, this is no answer to it, or the
                student has answered it otherwise; `reason` is then "closed", "invalid" or "answered".
        """
        try:
            with self._writing() as connection:
                kept = self._answer(connection, code, token, number, answer)
        except IntegrityError:
            # The same student has answered in the same moment, by another copy of the app.
            with self._writing() as connection:
                kept = self._answer(connection, code, token, number, answer)
        return kept

    @staticmethod
    def _answer(connection: Connection, code: str, token: str, number: int, answer: str) -> str:
        found = queries.class_of(connection, code)
        student = queries.find_student(connection, found.id, token)
        # Larger numbers than a database can hold are asked for, too.
        number = number if 0 < number <= MOST_ROUNDS else 0
        # Held until the answer is kept: nobody closes or reveals the question meanwhile.
        chosen = select(ROUNDS).where(ROUNDS.c.class_id == found.id, ROUNDS.c.number == number).with_for_update(read=True)
        asked = connection.execute(chosen).first()
        if asked is None:
            raise ClassError("This question was not asked.", "closed")
        question = ClassQuestion(**from_record(asked.question))
        read = question.read_answer(answer)
        if (kept := queries.find_answer(connection, asked.id, student.id)) is not None:
            if kept == read:
                return kept
            raise ClassError("You have answered this question already.", "answered")
        if asked.state != "open" or found.ended:
            raise ClassError("This question is closed.", "closed")
        is_right = AnswerKey(**from_record(asked.key)).accepts(read, question.kind)
        record = {"answer": read, "is_right": is_right, "seconds": max(now() - asked.opened, 0.0)}
        connection.execute(insert(ANSWERS).values(round_id=asked.id, student_id=student.id, **record))
        return read

    # What the copies of a server do.

    def versions(self, codes: Collection[str]) -> Mapping[str, int]:
        """Look up the version of classes; one that is no more is not there."""
        with self._reading() as connection:
            chosen = select(CLASSES.c.code, CLASSES.c.version).where(CLASSES.c.code.in_(codes), queries.is_alive())
            return {code: version for code, version in connection.execute(chosen)}

    def mark_here(self, students: Collection[int]) -> None:
        """Note that the phones of these students were heard of just now."""
        with self._writing() as connection:
            connection.execute(update(STUDENTS).where(STUDENTS.c.id.in_(students)).values(seen=now()))

    def delete_old(self) -> None:
        """Delete every class whose day is over."""
        with self._writing() as connection:
            connection.execute(delete(CLASSES).where(~queries.is_alive()))

    @staticmethod
    def _make_room(connection: Connection) -> None:
        connection.execute(delete(CLASSES).where(~queries.is_alive()))
        if (connection.scalar(select(func.count()).select_from(CLASSES)) or 0) < MOST_CLASSES:
            return
        # Classes that nobody has joined go first.
        empty = ~exists().where(STUDENTS.c.class_id == CLASSES.c.id)
        connection.execute(delete(CLASSES).where(empty, CLASSES.c.started < now() - 600))
        if (connection.scalar(select(func.count()).select_from(CLASSES)) or 0) >= MOST_CLASSES:
            raise BusyError("There are as many classes here as this server takes: try again in ten minutes.")

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _heard(), self._reads.connect() as connection, ended_when_late(connection):
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with _heard(), self._turn, self._writes.begin() as connection, ended_when_late(connection):
            yield connection


def _is_silent() -> Any:
    """Make the condition that a student has answered nothing."""
    return ~exists().where(ANSWERS.c.student_id == STUDENTS.c.id)


@contextmanager
def _heard() -> Iterator[None]:
    """Turn what a database says into one sentence."""
    try:
        yield
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        raise BusyError("The store of classes does not answer: try again in a moment.") from error
