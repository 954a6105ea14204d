"""The store of classes, the same on SQLite and on a real PostgreSQL: what it keeps, refuses, and does not tell."""

import csv
import io
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest
import sqlalchemy.exc
from sqlalchemy import event, update
from sqlalchemy.engine import Connection as SqlConnection

from attnviz.core.errors import BusyError, ClassError, SettingError
from attnviz.lessons.classroom import store as stores
from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion, ClassStep, StartedClass
from attnviz.lessons.classroom.store import CLASSES, METADATA, STUDENTS, ClassStore

QUESTION = ClassQuestion("token", "Where does it look?", ("the", "cat", "it"), (2,), ("the", "cat", "it"))
FORKS = multiprocessing.get_context("fork")
QUESTION_IN_WORDS = ClassQuestion("text", "What do you see?")
KEY = AnswerKey(("cat",), sentence="“it” gives “cat” 57 %.", weights=(0.1, 0.57, 0.33), link="/encode?text=the+cat")


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a' / 'b.sqlite'}" if request.param == "sqlite" else request.getfixturevalue("postgres")


@pytest.fixture
def store(address: str) -> Iterator[ClassStore]:
    opened = ClassStore(address)
    yield opened
    METADATA.drop_all(opened._reads)
    opened.dispose()


@pytest.fixture
def started(store: ClassStore) -> StartedClass:
    return store.start()


def answer_on(address: str, code: str, told: Connection) -> None:
    """Answer until killed, and tell what was acknowledged."""
    store = ClassStore(address)
    for _ in range(500):
        token = store.join(code)
        store.answer(code, token, 1, "cat")
        told.send(token)


def refusal(function: Callable[..., object], *arguments: object) -> str:
    with pytest.raises(ClassError) as caught:
        function(*arguments)
    return caught.value.reason


def test_the_commit_is_waited_for_no_longer_than_the_rest(store: ClassStore, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    @contextmanager
    def timed(_: SqlConnection) -> Iterator[None]:
        yield
        order.append("the timer ends")

    monkeypatch.setattr(stores, "ended_when_late", timed)
    event.listen(store._reads, "commit", lambda _: order.append("commit"))
    store.start()
    assert order == ["commit", "the timer ends"]


def test_phones_that_never_answered_make_room(
    store: ClassStore, started: StartedClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, secret = started.code, started.secret
    monkeypatch.setattr(stores, "MOST_STUDENTS", 3)
    first = store.join(code)
    for _ in range(2):
        store.join(code)
    store.ask(code, secret, QUESTION, KEY)
    store.answer(code, first, 1, "cat")
    assert refusal(store.join, code) == "full"
    # The teacher clears them at once; who answered stays, with the same number.
    store.remove_silent(code, secret)
    assert (store.overview(code).joined, store.student(code, first).number) == (1, 1)
    assert refusal(store.remove_silent, code, "guessed") == "forbidden"
    late = [store.join(code) for _ in range(2)]
    assert [store.student(code, each).number for each in late] == [2, 3]
    # Those that were not heard of for a minute go by themselves when somebody comes.
    with store._writing() as connection:
        connection.execute(update(STUDENTS).values(seen=STUDENTS.c.seen - stores.PRESENCE - 1))
    assert store.student(code, store.join(code)).number == 2
    assert store.overview(code).joined == 2


def test_a_clock_that_jumps_ends_no_class(store: ClassStore, started: StartedClass, monkeypatch: pytest.MonkeyPatch) -> None:
    jumped = time.time() + 90_000
    monkeypatch.setattr("time.time", lambda: jumped)
    assert store.overview(started.code).state == "waiting"
    store.delete_old()
    assert store.versions([started.code]) == {started.code: 1}


def test_a_pool_that_is_used_up_is_one_sentence(
    store: ClassStore, started: StartedClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used_up(*arguments: object) -> None:
        raise sqlalchemy.exc.TimeoutError("QueuePool limit of size 6 overflow 4 reached")

    with monkeypatch.context() as patch:
        patch.setattr(store._reads.pool, "connect", used_up)
        with pytest.raises(BusyError, match="does not answer"):
            store.overview(started.code)


@pytest.mark.gate
def test_a_full_disk_is_said_and_loses_nothing(tmp_path: Path) -> None:
    """SQLite says of its own limit of pages what it says of a disk without room; answers fill them."""
    store = ClassStore(f"sqlite:///{tmp_path / 'classes.sqlite'}")
    started = store.start()
    code, secret = started.code, started.secret
    store.ask(code, secret, QUESTION_IN_WORDS, KEY)
    phones = [store.join(code) for _ in range(90)]
    kept: list[str] = []

    def leave(pages: int) -> None:
        with store._reading() as connection:
            size = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        event.listen(store._writes, "begin", lambda connection: _limit(connection, size + pages))

    leave(1)
    for token in phones:
        try:
            store.answer(code, token, 1, token * 4)
        except BusyError:
            break
        kept.append(token)
    with pytest.raises(BusyError, match="disk of the class store is full"):
        store.answer(code, phones[len(kept)], 1, phones[len(kept)] * 4)
    assert 0 < len(kept) < len(phones)
    assert store.overview(code).answered == len(kept)
    assert {token for token in phones if store.student(code, token).answer} == set(kept)
    leave(1_000)
    for token in set(phones) - set(kept):
        store.answer(code, token, 1, token * 4)
    store.reveal(code, secret)
    assert store.overview(code).answered == len(phones)
    store.dispose()


def _limit(connection: SqlConnection, pages: int) -> None:
    connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")


def test_a_postgresql_that_stops_is_told_soon_and_goes_on(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "LATE", 1)
    store = ClassStore(postgres)
    try:
        started = store.start()
        with store._reading() as connection:
            backend = psutil.Process(connection.exec_driver_sql("select pg_backend_pid()").scalar_one())
        backend.suspend()
        try:
            with pytest.raises(BusyError):
                store.overview(started.code)
        finally:
            backend.resume()
        assert store.overview(started.code).state == "waiting"
    finally:
        METADATA.drop_all(store._reads)
        store.dispose()


def test_a_class_from_its_start_to_its_end(store: ClassStore) -> None:
    started = store.start(nicknames=True)
    code, secret = started.code, started.secret
    ada, bob = store.join(code, " Ada "), store.join(code.lower(), "=1+1")
    assert store.overview(code).state == "waiting"
    assert store.ask(code, secret, QUESTION, KEY) == 1
    assert store.answer(code, ada, 1, "cat") == store.answer(code, ada, 1, "cat") == "cat"
    assert refusal(store.answer, code, ada, 1, "the") == "answered"
    assert refusal(store.answer, code, bob, 1, "dog") == "invalid"
    assert refusal(store.answer, code, bob, 2, "cat") == "closed"
    assert store.answer(code, bob, 1, "the") == "the"
    before = store.overview(code)
    assert (before.state, before.joined, before.here, before.answered) == ("open", 2, 2, 2)
    store.reveal(code, secret)
    after = store.overview(code, secret)
    assert after.version == before.version + 1
    assert [(each.answer, each.count, each.is_right) for each in after.results] == [("cat", 1, True), ("the", 1, False)]
    assert after.key == KEY
    assert after.question == QUESTION
    eve = store.join(code)
    assert refusal(store.answer, code, eve, 1, "cat") == "closed"
    # The next question closes the one before, and has none of its answers.
    store.ask(code, secret, QUESTION, KEY)
    assert store.student(code, ada).answer is None
    store.answer(code, eve, 2, "cat")
    store.ask(code, secret, ClassQuestion("number", "How much?"), AnswerKey(("0.57",), 0.1))
    assert refusal(store.answer, code, ada, 2, "cat") == "closed"
    assert store.answer(code, ada, 3, "50 %") == "0.5"
    store.end(code, secret)
    assert store.overview(code).state == "ended"
    assert refusal(store.join, code) == refusal(store.ask, code, secret, QUESTION, KEY) == "ended"
    assert [(each.number, each.state, each.answered) for each in store.history(code, secret)] == [
        (1, "revealed", 2), (2, "closed", 1), (3, "closed", 1),
    ]  # fmt: skip
    header, *rows = csv.reader(io.StringIO(store.csv(code, secret).decode("utf-8-sig")))
    assert header[:4] == ["question", "asked", "student", "nickname"]
    asked = QUESTION.ask
    assert [row[:6] for row in rows] == [
        ["1", asked, "1", "Ada", "cat", "yes"], ["1", asked, "2", "'=1+1", "the", "no"], ["2", asked, "3", "", "cat", "yes"],
        ["3", "How much?", "1", "Ada", "0.5", "yes"],
    ]  # fmt: skip


def test_nothing_of_the_key_is_told_before_the_reveal(store: ClassStore, started: StartedClass) -> None:
    code, secret = started.code, started.secret
    token = store.join(code)
    store.ask(code, secret, QUESTION, KEY)
    store.answer(code, token, 1, "cat")
    for close in (lambda: None, lambda: store.close(code, secret)):
        close()
        phones = store.overview(code).for_phones()
        told = repr((store.overview(code), phones, store.history(code, secret), store.csv(code, secret)))
        assert "57" not in told
        assert "yes" not in told
        assert store.overview(code).results == ()
    store.reveal(code, secret)
    assert store.overview(code).for_phones()["truth"]["guesses"] == [["cat", 1, True]]


def test_a_question_of_a_questionnaire_is_not_revealed(store: ClassStore, started: StartedClass) -> None:
    code, secret = started.code, started.secret
    store.ask(code, secret, replace(QUESTION, step=ClassStep(reveals=False)), KEY)
    store.answer(code, store.join(code), 1, "cat")
    before = store.overview(code)
    with pytest.raises(ClassError, match="reveal: no"):
        store.reveal(code, secret)
    assert store.overview(code) == before
    assert (before.state, before.results, before.key) == ("open", (), None)
    store.ask(code, secret, QUESTION, KEY)
    store.reveal(code, secret)
    assert store.overview(code).state == "revealed"


def test_only_the_teacher_changes_a_class_or_reads_its_answers(store: ClassStore, started: StartedClass) -> None:
    code, secret = started.code, started.secret
    other = store.start()
    token = store.join(code)
    store.ask(code, secret, QUESTION, KEY)
    before = store.overview(code)
    for forged in ("", token, started.invite, code, secret[:-1], f"{secret} ", other.secret, "é" * 40, "\ud800"):
        for act in (store.close, store.reveal, store.end, store.delete, store.history, store.csv, store.overview):
            assert refusal(act, code, forged) == "forbidden"
        assert refusal(store.ask, code, forged, QUESTION, KEY) == "forbidden"
        assert forged == token or refusal(store.answer, code, forged, 1, "cat") == "forbidden"
    assert refusal(store.answer, other.code, token, 1, "cat") == "forbidden"
    # Nor does a secret that is made up tell which codes there are.
    store.delete(other.code, other.secret)
    with pytest.raises(ClassError) as absent:
        store.overview(other.code, "forged")
    with pytest.raises(ClassError) as foreign:
        store.overview(code, "forged")
    assert (str(absent.value), absent.value.reason) == (str(foreign.value), foreign.value.reason)
    assert store.overview(code) == before
    assert store.is_invited(code, started.invite)
    assert not store.is_invited(code, other.invite)


def test_one_student_answers_once_however_many_requests_arrive(store: ClassStore, started: StartedClass) -> None:
    code = started.code
    tokens = [store.join(code) for _ in range(5)]
    store.ask(code, started.secret, QUESTION, KEY)

    def send(at: int) -> str:
        try:
            return store.answer(code, tokens[at % 5], 1, ("cat", "the")[at // 5 % 2])
        except ClassError as error:
            return error.reason

    with ThreadPoolExecutor(8) as pool:
        acknowledged = list(pool.map(send, range(40)))
    store.reveal(code, started.secret)
    assert store.overview(code).answered == 5
    assert acknowledged.count("answered") == 20
    assert sum(each.count for each in store.overview(code).results) == 5


def test_students_who_join_at_once_get_numbers_of_their_own(store: ClassStore, started: StartedClass) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: store.join(started.code), range(24)))
    assert sorted(store.student(started.code, token).number for token in tokens) == list(range(1, 25))


def test_no_answer_is_kept_once_the_truth_is_out(store: ClassStore, started: StartedClass) -> None:
    code = started.code
    tokens = [store.join(code) for _ in range(16)]
    store.ask(code, started.secret, QUESTION, KEY)
    kept: list[float] = []

    def send(token: str) -> None:
        try:
            store.answer(code, token, 1, "cat")
            kept.append(time.monotonic())
        except ClassError:
            pass

    threads = [threading.Thread(target=send, args=[token]) for token in tokens]
    for thread in threads:
        thread.start()
    store.reveal(code, started.secret)
    seen = store.overview(code).answered
    for thread in threads:
        thread.join()
    assert seen == store.overview(code).answered == len(kept)


def test_what_was_acknowledged_is_there_after_a_kill(store: ClassStore, address: str, started: StartedClass) -> None:
    code = started.code
    store.ask(code, started.secret, QUESTION, KEY)
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=answer_on, args=(address, code, theirs))
    process.start()
    theirs.close()
    acknowledged = [ours.recv() for _ in range(20)]
    process.kill()
    process.join()
    while ours.poll():
        try:
            acknowledged.append(ours.recv())
        except EOFError:
            break
    again = ClassStore(address)
    assert all(again.student(code, token).answer == "cat" for token in acknowledged)
    assert again.answer(code, again.join(code), 1, "the") == "the"
    assert again.overview(code).answered in (len(acknowledged) + 1, len(acknowledged) + 2)
    again.dispose()


def test_a_class_is_over_after_a_day_and_deleted(store: ClassStore, started: StartedClass) -> None:
    token = store.join(started.code)
    store.ask(started.code, started.secret, QUESTION, KEY)
    store.answer(started.code, token, 1, "cat")
    assert store.versions([started.code, "BCDF"]).keys() == {started.code}
    with store._writing() as connection:
        connection.execute(update(CLASSES).values(started=time.time() - 86_401))
    assert refusal(store.overview, started.code) == refusal(store.join, started.code) == "unknown"
    assert store.versions([started.code]) == {}
    store.delete_old()
    with store._reading() as connection:
        assert [connection.execute(table.select()).all() for table in METADATA.sorted_tables] == [[], [], [], []]


def test_limits_are_one_sentence_each(store: ClassStore, started: StartedClass, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_STUDENTS", 2)
    monkeypatch.setattr(stores, "MOST_ROUNDS", 1)
    monkeypatch.setattr(stores, "MOST_CLASSES", 1)
    for _ in range(2):
        store.join(started.code)
    store.ask(started.code, started.secret, QUESTION, KEY)
    assert refusal(store.join, started.code) == refusal(store.ask, started.code, started.secret, QUESTION, KEY) == "full"
    with pytest.raises(BusyError, match="ten minutes"):
        store.start()
    # A class that nobody has joined for ten minutes makes room.
    store.delete(started.code, started.secret)
    store.start()
    with store._writing() as connection:
        connection.execute(update(CLASSES).values(started=time.time() - 601))
    store.start()


def test_a_phone_is_here_for_a_minute(store: ClassStore, started: StartedClass, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, here = (store.student(started.code, store.join(started.code)).id for _ in range(2))
    later = stores.now() + 61
    monkeypatch.setattr(stores, "now", lambda: later)
    store.mark_here([here])
    assert gone != here
    assert (store.overview(started.code).joined, store.overview(started.code).here) == (2, 1)


@pytest.mark.parametrize(
    "address",
    [
        "nonsense",
        "sqlite://",
        "mysql+nothing://a/b",
        "sqlite:////proc/no/classes.sqlite",
        "postgresql+psycopg://a@/b?host=/nowhere",
    ],
)
def test_a_store_that_cannot_be_opened_says_what_to_set(address: str) -> None:
    with pytest.raises(SettingError, match="ATTNVIZ_CLASS_STORE"):
        ClassStore(address)


def test_a_file_that_cannot_be_written_is_named_whoever_chose_it() -> None:
    with pytest.raises(SettingError, match=r"in the file /proc/no/classes\.sqlite: set ATTNVIZ_CLASS_STORE to"):
        ClassStore("sqlite:////proc/no/classes.sqlite")
