"""The store of classes: who is in which class, what was asked, who answered what. Every function is one transaction."""

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from attnviz.core.errors import BusyError, ClassError, SettingError
from attnviz.export.csv_table import csv_table
from attnviz.lessons.classroom.class_values import (
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    ClassRound,
    ClassStudent,
    StartedClass,
    from_record,
    guesses_of,
)
from attnviz.lessons.classroom.codes_and_nicknames import is_token, new_code, new_token, read_code, read_nickname, token_hash

METADATA = sa.MetaData()
# Another shape of the tables takes another number in their names: what is there lives for a day only.
_NAME = "attnviz1_{}"
# Seconds that a write waits for another one; seconds in which a PostgreSQL answers, or is taken to have stopped.
_PATIENCE, LATE = 15, 4


def _belongs(to: sa.Table) -> sa.Column:
    return sa.Column(
        f"{to.name.rsplit('_', 1)[1]}_id", sa.ForeignKey(f"{to.name}.id", ondelete="CASCADE"), nullable=False, index=True
    )


CLASSES = sa.Table(
    _NAME.format("class"), METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("code", sa.String(8), nullable=False, unique=True),
    sa.Column("secret", sa.String(64), nullable=False),
    sa.Column("invite", sa.String(64), nullable=False),
    sa.Column("nicknames", sa.Boolean, nullable=False),
    # Seconds since 1970.
    sa.Column("started", sa.Float, nullable=False, index=True),
    # Grows with all that the phones have to know.
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("ended", sa.Boolean, nullable=False),
)  # fmt: skip
ROUNDS = sa.Table(
    _NAME.format("round"), METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    _belongs(CLASSES),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("state", sa.String(8), nullable=False),
    sa.Column("question", sa.JSON, nullable=False),
    sa.Column("key", sa.JSON, nullable=False),
    sa.Column("opened", sa.Float, nullable=False),
    sa.UniqueConstraint("class_id", "number"),
)  # fmt: skip
STUDENTS = sa.Table(
    _NAME.format("student"), METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    _belongs(CLASSES),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("token", sa.String(64), nullable=False, unique=True),
    sa.Column("nickname", sa.String(40), nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
    sa.UniqueConstraint("class_id", "number"),
)  # fmt: skip
ANSWERS = sa.Table(
    _NAME.format("answer"), METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    _belongs(ROUNDS),
    _belongs(STUDENTS),
    sa.Column("answer", sa.String(40_000), nullable=False),
    sa.Column("is_right", sa.Boolean),
    sa.Column("seconds", sa.Float, nullable=False),
    # One student answers a question once, whatever is sent.
    sa.Index("attnviz1_once", "round_id", "student_id", unique=True),
)  # fmt: skip


def open_database(address: str) -> Engine:
    """Open the database at an address of SQLAlchemy's, and make what tables it lacks.

    Raises:
        SettingError: there is no such database, or nothing can be written there.
    """
    file: str | None = None
    try:
        url = make_url(address)
        if is_file := url.get_backend_name() == "sqlite":
            if not url.database or url.database == ":memory:":
                raise SettingError(
                    "ATTNVIZ_CLASS_STORE names a file: sqlite:////var/lib/attnviz/classes.sqlite, with four slashes."
                )
            file = url.database
            Path(file).parent.mkdir(parents=True, exist_ok=True)
        patience: dict[str, Any] = {"timeout": _PATIENCE}
        waits: dict[str, Any] = {}
        if not is_file:
            patience = {"connect_timeout": LATE, "options": f"-c statement_timeout={LATE * 1000}"}
            waits = {"pool_timeout": LATE}
        engine = sa.create_engine(url, pool_size=6, max_overflow=4, connect_args=patience, **waits)
        if is_file:
            event.listen(engine, "connect", _set_up_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        _make_tables(engine)
    except (ArgumentError, ImportError) as error:
        raise SettingError(
            "ATTNVIZ_CLASS_STORE has to be an address such as postgresql+psycopg://user:password@host/name, "
            'and PostgreSQL needs pip install "attnviz[postgres]".'
        ) from error
    except (OSError, DBAPIError) as error:
        what = f"Classes cannot be kept in the file {file}" if file else "The database of classes cannot be opened"
        raise SettingError(f"{what}: set ATTNVIZ_CLASS_STORE to a file that can be written, or to a PostgreSQL.") from error
    return engine


@contextmanager
def ended_when_late(connection: Connection) -> Iterator[None]:
    """Close the socket to a PostgreSQL that does not answer in time: its driver would wait for ever, and a thread with it.

    The next transaction opens another connection; what was not committed did not happen.
    """
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        yield
        return
    timer = threading.Timer(LATE + 0.5, _shut, [driver])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(driver: Any) -> None:
    with suppress(Exception), socket.socket(fileno=os.dup(driver.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)


def _make_tables(engine: Engine) -> None:
    try:
        METADATA.create_all(engine)
    except DBAPIError:
        # Another copy of the app has made them in the same moment.
        METADATA.create_all(engine)


def _set_up_sqlite(connection: Any, _: Any) -> None:
    # Python's driver would begin transactions late, by reading; here `_begin_sqlite` begins them.
    connection.isolation_level = None
    for line in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {line}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first fails to write where another has written meanwhile: a writer waits for its turn instead.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


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
    """Say whether any class has this code, even one that is over."""
    return connection.execute(sa.select(CLASSES.c.id).where(CLASSES.c.code == code)).first() is not None


def find_class(connection: Connection, code: str, *, locks: bool = False) -> Any:
    """Find a class by its code as it was typed; `locks`: nobody else changes it until the transaction is over."""
    chosen = sa.select(CLASSES).where(CLASSES.c.code == read_code(code), is_alive())
    return connection.execute(chosen.with_for_update() if locks else chosen).first()


def class_of(connection: Connection, code: str, secret: str | None = None, *, locks: bool = False) -> Any:
    """Find a class, where a secret is given as its teacher.

    Raises:
        ClassError: there is none, or the secret is another one's.
    """
    found = find_class(connection, code, locks=locks)
    # With a secret that was made up no code can be tried: the same is said whether or not there is such a class.
    if secret is not None and not (found and is_token(secret, found.secret)):
        raise ClassError("This class was deleted, its day is over, or this link is not its teacher's.", "forbidden")
    if found is None:
        raise ClassError("There is no class with this code. Look at the projector again.", "unknown")
    return found


def change_class(connection: Connection, code: str, secret: str) -> Any:
    """Find a class that its teacher changes: the phones will have to know."""
    found = class_of(connection, code, secret, locks=True)
    if found.ended:
        raise ClassError("This class has ended: start another one.", "ended")
    connection.execute(sa.update(CLASSES).where(CLASSES.c.id == found.id).values(version=found.version + 1))
    return found


def set_state(connection: Connection, class_id: int, before: Collection[str], after: str) -> None:
    """Give the present question another state, if it has one of those `before`."""
    last = sa.select(sa.func.max(ROUNDS.c.number)).where(ROUNDS.c.class_id == class_id).scalar_subquery()
    present = sa.update(ROUNDS).where(ROUNDS.c.class_id == class_id, ROUNDS.c.number == last, ROUNDS.c.state.in_(before))
    connection.execute(present.values(state=after))


def present_round(connection: Connection, class_id: int) -> Any:
    """Find what was asked last."""
    chosen = sa.select(ROUNDS).where(ROUNDS.c.class_id == class_id).order_by(ROUNDS.c.number.desc()).limit(1)
    return connection.execute(chosen).first()


def read_round(connection: Connection, row: Any, *, is_over: bool) -> ClassRound:
    """Read a question; with its key and its answers where it is revealed, or its class `is_over`."""
    question = ClassQuestion(**from_record(row.question))
    if not (is_over or row.state == "revealed"):
        count = sa.select(sa.func.count()).select_from(ANSWERS).where(ANSWERS.c.round_id == row.id)
        return ClassRound(row.number, question, row.state, connection.scalar(count) or 0)
    chosen = sa.select(ANSWERS.c.answer, ANSWERS.c.is_right).where(ANSWERS.c.round_id == row.id).order_by(ANSWERS.c.id)
    answers = [(answer, is_right) for answer, is_right in connection.execute(chosen)]
    key = AnswerKey(**from_record(row.key))
    return ClassRound(row.number, question, row.state, len(answers), guesses_of(answers), key)


def find_student(connection: Connection, class_id: int, token: str) -> Any:
    """Find the student of a class who holds a token.

    Raises:
        ClassError: there is none.
    """
    chosen = sa.select(STUDENTS).where(STUDENTS.c.class_id == class_id, STUDENTS.c.token == token_hash(token))
    if (found := connection.execute(chosen).first()) is None:
        raise ClassError("This phone has not joined the class: type its code again.", "forbidden")
    return found


def find_answer(connection: Connection, round_id: int, student_id: int) -> str | None:
    """Look up what a student has answered; None: nothing."""
    chosen = sa.select(ANSWERS.c.answer).where(ANSWERS.c.round_id == round_id, ANSWERS.c.student_id == student_id)
    return connection.scalar(chosen)


def count_students(connection: Connection, condition: Any) -> int:
    """Count the students of whom a condition holds."""
    return connection.scalar(sa.select(sa.func.count()).select_from(STUDENTS).where(condition)) or 0


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
            while is_taken(connection, code := new_code()):
                pass
            record = {"code": code, "secret": token_hash(secret), "invite": token_hash(invite), "nicknames": nicknames}
            connection.execute(sa.insert(CLASSES).values(**record, started=now(), version=1, ended=False))
        return StartedClass(code, invite, secret)

    def ask(self, code: str, secret: str, question: ClassQuestion, key: AnswerKey) -> int:
        """Ask a class, and close what was asked before; gives the question's number.

        Raises:
            ClassError: there is no such class, the secret is another one's, or too much was asked.
        """
        with self._writing() as connection:
            found = change_class(connection, code, secret)
            set_state(connection, found.id, ("open",), "closed")
            number = 1 + (connection.scalar(sa.select(sa.func.max(ROUNDS.c.number)).where(ROUNDS.c.class_id == found.id)) or 0)
            if number > MOST_ROUNDS:
                raise ClassError(f"A class is asked {MOST_ROUNDS} questions at most: start another one.", "full")
            record = {"question": asdict(question), "key": asdict(key), "opened": now()}
            connection.execute(sa.insert(ROUNDS).values(class_id=found.id, number=number, state="open", **record))
        return number

    def close(self, code: str, secret: str) -> None:
        """Take no further answers to the present question.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            set_state(connection, change_class(connection, code, secret).id, ("open",), "closed")

    def reveal(self, code: str, secret: str) -> None:
        """Show the class the right answer to the present question, and what was guessed.

        Raises:
            ClassError: there is no such class, the secret is another one's, or the question's lesson says "reveal: no".
        """
        with self._writing() as connection:
            found = change_class(connection, code, secret)
            last = present_round(connection, found.id)
            if last and not ClassQuestion(**from_record(last.question)).step.reveals:
                raise ClassError("The lesson of this question says “reveal: no”: its answer is only in your table of answers.")
            set_state(connection, found.id, ("open", "closed"), "revealed")

    def end(self, code: str, secret: str) -> None:
        """End a class; its answers stay for the teacher until its day is over.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            found = change_class(connection, code, secret)
            set_state(connection, found.id, ("open",), "closed")
            connection.execute(sa.update(CLASSES).where(CLASSES.c.id == found.id).values(ended=True))

    def delete(self, code: str, secret: str) -> None:
        """Delete a class with all that was answered.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            connection.execute(sa.delete(CLASSES).where(CLASSES.c.id == class_of(connection, code, secret).id))

    def remove_silent(self, code: str, secret: str) -> None:
        """Remove the phones of a class that never answered; those that are in use join again by themselves, unseen.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._writing() as connection:
            found = change_class(connection, code, secret)
            connection.execute(sa.delete(STUDENTS).where(STUDENTS.c.class_id == found.id, _is_silent()))

    def overview(self, code: str, secret: str | None = None) -> ClassOverview:
        """Tell what a projector and the phones may show now.

        Raises:
            ClassError: there is no such class, or a secret is given and another one's.
        """
        with self._reading() as connection:
            found = class_of(connection, code, secret)
            last = present_round(connection, found.id)
            of_class = STUDENTS.c.class_id == found.id
            joined = count_students(connection, of_class)
            here = count_students(connection, of_class & (STUDENTS.c.seen > now() - PRESENCE))
            common: Any = {"code": found.code, "version": found.version, "nicknames": found.nicknames}
            state = "ended" if found.ended else last.state if last else "waiting"
            if last is None:
                return ClassOverview(**common, state=state, here=here, joined=joined)
            asked = read_round(connection, last, is_over=False)
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
            found = class_of(connection, code, secret)
            rounds = connection.execute(sa.select(ROUNDS).where(ROUNDS.c.class_id == found.id).order_by(ROUNDS.c.number))
            return tuple(read_round(connection, each, is_over=found.ended) for each in rounds.all())

    def csv(self, code: str, secret: str) -> bytes:
        """Write a table of all answers; what is right is told once it is revealed, or the class has ended.

        Raises:
            ClassError: there is no such class, or the secret is another one's.
        """
        with self._reading() as connection:
            found = class_of(connection, code, secret)
            joined = ANSWERS.join(ROUNDS).join(STUDENTS)
            columns = (ROUNDS.c.number, ROUNDS.c.question, STUDENTS.c.number.label("student"), STUDENTS.c.nickname)
            chosen = sa.select(*columns, ROUNDS.c.state, ANSWERS).select_from(joined).where(ROUNDS.c.class_id == found.id)
            answers = connection.execute(chosen.order_by(ROUNDS.c.number, STUDENTS.c.number)).all()
        rows = []
        for each in answers:
            right = {True: "yes", False: "no"}.get(each.is_right, "") if found.ended or each.state == "revealed" else ""
            student = each.student, each.nickname, each.answer
            rows.append((each.number, each.question["ask"], *student, right, round(each.seconds, 1)))
        return csv_table(COLUMNS, rows)

    # What students do.

    def join(self, code: str, nickname: str = "") -> str:
        """Join a class; gives the token by which this student is known from now on.

        Raises:
            ClassError: there is no such class, it has ended or is full, or the nickname cannot be shown.
        """
        token = new_token()
        with self._writing() as connection:
            found = class_of(connection, code, locks=True)
            if found.ended:
                raise ClassError("This class has ended.", "ended")
            name = read_nickname(nickname) if found.nicknames else ""
            in_class = STUDENTS.c.class_id == found.id
            if count_students(connection, in_class) >= MOST_STUDENTS:
                # Phones that joined and were never heard of again make room.
                connection.execute(sa.delete(STUDENTS).where(in_class, _is_silent(), STUDENTS.c.seen < now() - PRESENCE))
            number = 1 + (connection.scalar(sa.select(sa.func.max(STUDENTS.c.number)).where(in_class)) or 0)
            if count_students(connection, in_class) >= MOST_STUDENTS:
                raise ClassError(f"This class is full: it takes {MOST_STUDENTS} phones.", "full")
            record = {"number": number, "token": token_hash(token), "nickname": name, "seen": now()}
            connection.execute(sa.insert(STUDENTS).values(class_id=found.id, **record))
        return token

    def is_invited(self, code: str, invite: str) -> bool:
        """Say whether this is the invitation in the QR code of that class."""
        with self._reading() as connection:
            found = find_class(connection, code)
            return found is not None and is_token(invite, found.invite)

    def student(self, code: str, token: str) -> ClassStudent:
        """Tell who holds a token, and what they have answered to the present question.

        Raises:
            ClassError: there is no such class, or nobody of it holds this token.
        """
        with self._reading() as connection:
            found = class_of(connection, code)
            student, last = find_student(connection, found.id, token), present_round(connection, found.id)
            given = find_answer(connection, last.id, student.id) if last else None
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
        found = class_of(connection, code)
        student = find_student(connection, found.id, token)
        # Larger numbers than a database can hold are asked for, too.
        number = number if 0 < number <= MOST_ROUNDS else 0
        # Held until the answer is kept: nobody closes or reveals the question meanwhile.
        chosen = sa.select(ROUNDS).where(ROUNDS.c.class_id == found.id, ROUNDS.c.number == number).with_for_update(read=True)
        asked = connection.execute(chosen).first()
        if asked is None:
            raise ClassError("This question was not asked.", "closed")
        question = ClassQuestion(**from_record(asked.question))
        read = question.read_answer(answer)
        if (kept := find_answer(connection, asked.id, student.id)) is not None:
            if kept == read:
                return kept
            raise ClassError("You have answered this question already.", "answered")
        if asked.state != "open" or found.ended:
            raise ClassError("This question is closed.", "closed")
        is_right = AnswerKey(**from_record(asked.key)).accepts(read, question.kind)
        record = {"answer": read, "is_right": is_right, "seconds": max(now() - asked.opened, 0.0)}
        connection.execute(sa.insert(ANSWERS).values(round_id=asked.id, student_id=student.id, **record))
        return read

    # What the copies of a server do.

    def versions(self, codes: Collection[str]) -> Mapping[str, int]:
        """Look up the version of classes; one that is no more is not there."""
        with self._reading() as connection:
            chosen = sa.select(CLASSES.c.code, CLASSES.c.version).where(CLASSES.c.code.in_(codes), is_alive())
            return {code: version for code, version in connection.execute(chosen)}

    def mark_here(self, students: Collection[int]) -> None:
        """Note that the phones of these students were heard of just now."""
        with self._writing() as connection:
            connection.execute(sa.update(STUDENTS).where(STUDENTS.c.id.in_(students)).values(seen=now()))

    def delete_old(self) -> None:
        """Delete every class whose day is over."""
        with self._writing() as connection:
            connection.execute(sa.delete(CLASSES).where(~is_alive()))

    @staticmethod
    def _make_room(connection: Connection) -> None:
        connection.execute(sa.delete(CLASSES).where(~is_alive()))
        if (connection.scalar(sa.select(sa.func.count()).select_from(CLASSES)) or 0) < MOST_CLASSES:
            return
        # Classes that nobody has joined go first.
        empty = ~sa.exists().where(STUDENTS.c.class_id == CLASSES.c.id)
        connection.execute(sa.delete(CLASSES).where(empty, CLASSES.c.started < now() - 600))
        if (connection.scalar(sa.select(sa.func.count()).select_from(CLASSES)) or 0) >= MOST_CLASSES:
            raise BusyError("There are as many classes here as this server takes: try again in ten minutes.")

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _heard(), self._reads.connect() as connection, ended_when_late(connection):
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        # The commit, too, may meet a database that has stopped.
        with _heard(), self._turn, self._writes.connect() as connection, ended_when_late(connection), connection.begin():
            yield connection


def _is_silent() -> Any:
    """Make the condition that a student has answered nothing."""
    return ~sa.exists().where(ANSWERS.c.student_id == STUDENTS.c.id)


@contextmanager
def _heard() -> Iterator[None]:
    """Turn what a database says into one sentence."""
    try:
        yield
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        if _is_full(error):
            raise BusyError(
                "The disk of the class store is full, so nothing more is kept: free some space there, and the class goes on "
                "with all that was acknowledged."
            ) from error
        raise BusyError("The store of classes does not answer: try again in a moment.") from error


def _is_full(error: SQLAlchemyError) -> bool:
    """Say whether SQLite or PostgreSQL (disk_full) found no room on the disk."""
    said = getattr(error, "orig", None)
    return getattr(said, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or getattr(said, "sqlstate", None) == "53100"
