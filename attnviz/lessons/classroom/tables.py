"""The tables of a class, and the database that holds them: a file of SQLite, or a PostgreSQL."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    create_engine,
    event,
)
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from attnviz.core.errors import SettingError

METADATA = MetaData()
# Another shape of the tables takes another number in their names: what is there lives for a day only.
_NAME = "attnviz1_{}"
# Seconds that a write waits for another one; seconds in which a PostgreSQL answers, or is taken to have stopped.
_PATIENCE, LATE = 15, 4


def _belongs(to: Table) -> Column:
    return Column(
        f"{to.name.rsplit('_', 1)[1]}_id", ForeignKey(f"{to.name}.id", ondelete="CASCADE"), nullable=False, index=True
    )


CLASSES = Table(
    _NAME.format("class"), METADATA,
    Column("id", Integer, primary_key=True),
    Column("code", String(8), nullable=False, unique=True),
    Column("secret", String(64), nullable=False),
    Column("invite", String(64), nullable=False),
    Column("nicknames", Boolean, nullable=False),
    # Seconds since 1970.
    Column("started", Float, nullable=False, index=True),
    # Grows with all that the phones have to know.
    Column("version", Integer, nullable=False),
    Column("ended", Boolean, nullable=False),
)  # fmt: skip
ROUNDS = Table(
    _NAME.format("round"), METADATA,
    Column("id", Integer, primary_key=True),
    _belongs(CLASSES),
    Column("number", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    Column("question", JSON, nullable=False),
    Column("key", JSON, nullable=False),
    Column("opened", Float, nullable=False),
    UniqueConstraint("class_id", "number"),
)  # fmt: skip
STUDENTS = Table(
    _NAME.format("student"), METADATA,
    Column("id", Integer, primary_key=True),
    _belongs(CLASSES),
    Column("number", Integer, nullable=False),
    Column("token", String(64), nullable=False, unique=True),
    Column("nickname", String(40), nullable=False),
    Column("seen", Float, nullable=False),
    UniqueConstraint("class_id", "number"),
)  # fmt: skip
ANSWERS = Table(
    _NAME.format("answer"), METADATA,
    Column("id", Integer, primary_key=True),
    _belongs(ROUNDS),
    _belongs(STUDENTS),
    Column("answer", String(40_000), nullable=False),
    Column("is_right", Boolean),
    Column("seconds", Float, nullable=False),
    # One student answers a question once, whatever is sent.
    Index("attnviz1_once", "round_id", "student_id", unique=True),
)  # fmt: skip


def open_database(address: str) -> Engine:
    """Open the database at an address of SQLAlchemy's, and make what tables it lacks.

    Raises:
        SettingError: there is no such database, or nothing can be written there.
    """
    try:
        url = make_url(address)
        if is_file := url.get_backend_name() == "sqlite":
            if not url.database or url.database == ":memory:":
                raise SettingError(
                    "ATTNVIZ_CLASS_STORE names a file: sqlite:////var/lib/attnviz/classes.sqlite, with four slashes."
                )
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        patience: dict[str, Any] = {"timeout": _PATIENCE}
        waits: dict[str, Any] = {}
        if not is_file:
            patience = {"connect_timeout": LATE, "options": f"-c statement_timeout={LATE * 1000}"}
            waits = {"pool_timeout": LATE}
        engine = create_engine(url, pool_size=6, max_overflow=4, connect_args=patience, **waits)
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
        raise SettingError(
            "The store of classes cannot be opened: ATTNVIZ_CLASS_STORE names a file that can be written, or a PostgreSQL."
        ) from error
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
