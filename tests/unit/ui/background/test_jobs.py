"""Who gives way to whom while pages and jobs are at work, and when a job ends."""

import gc
import inspect
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.state import SafeSessionState, SessionState, SessionStateProxy, session_state_proxy
from streamlit.testing.v1 import AppTest

from attnviz.core.edits import NO_EDITS
from attnviz.core.errors import CancelledError, LostCardError, ModelError, cancellation_point
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.base import GREEDY, Progress
from attnviz.ui import compute, matters
from attnviz.ui.background import jobs
from attnviz.ui.background import results as models
from attnviz.ui.background.jobs import Job, LruCache, Slots, computing, shared, stoppable
from attnviz.ui.whatif import view
from tests.tiny import first_now

ANNA = Prompt("Anna lives in Rome.", question="Where does Anna live?")


class Panic(BaseException):
    """As a library that is written in Rust raises one."""


class Gone(BaseException):
    """As Streamlit ends the run of a page whose browser has gone."""


class Sessions(threading.local):
    """What each visit keeps: here a thread is a visit."""

    def __init__(self) -> None:
        self._kept = {}

    def get(self, name: str, default: object = None) -> object:
        return self._kept.get(name, default)

    def __setitem__(self, name: str, value: object) -> None:
        self._kept[name] = value


class Browser(DeltaGenerator):
    """Where progress is shown, until the browser goes."""

    def __init__(self) -> None:
        super().__init__()
        self.gone, self.shown = threading.Event(), threading.Event()
        self.drawn: list[str] = []

    def container(self, **options: object) -> "Browser":
        return self

    empty = container

    def skeleton(self, *arguments: Any, **options: Any) -> Any:
        self.drawn.append("blank")

    def progress(self, value: float, text: Any = None, *arguments: Any, **options: Any) -> Any:
        self.drawn.append("bar")
        self.shown.set()
        if self.gone.is_set():
            raise Gone
        return self


@pytest.fixture
def shelf() -> LruCache[Job]:
    return LruCache(9, 0)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(st, "session_state", Sessions())
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(jobs, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(jobs, "REDRAW_SECONDS", 0.01)


def test_the_bar_stands_before_the_blank_below_it_is_drawn_so_that_it_pushes_nothing_down(shelf: LruCache[Job]):
    browser = Browser()
    assert shared(shelf, "key", lambda progress: time.sleep(0.2), browser) is None
    assert browser.drawn[:2] == ["bar", "blank"]
    assert browser.drawn.count("blank") == 1


def test_a_wait_of_minutes_ends_with_the_result(monkeypatch: pytest.MonkeyPatch):
    def page(job, redraw):
        import streamlit as st

        from attnviz.ui.background.jobs import stoppable

        with stoppable(lambda: None, redraw):
            st.text(job.result(st.empty()))

    monkeypatch.setattr(jobs, "REDRAW_SECONDS", 0.0)
    redrawn, enough = itertools.count(1), threading.Event()
    job = Job(lambda progress: "done" if enough.wait(60) else "")
    kwargs = {"job": job, "redraw": lambda: next(redrawn) > sys.getrecursionlimit() and enough.set()}
    shown = AppTest.from_function(page, default_timeout=60, kwargs=kwargs).run()
    assert not shown.exception
    assert shown.text[0].value == "done"


def test_a_run_that_is_overtaken_leaves_the_next_one_nothing_to_draw_or_to_stop(
    shelf: LruCache[Job], monkeypatch: pytest.MonkeyPatch
):
    kept, overtaken, drawn = SessionState(), threading.Event(), []

    def leave() -> None:
        if overtaken.is_set():
            raise StopException

    monkeypatch.setattr(session_state_proxy, "get_session_state", lambda: SafeSessionState(kept, leave))
    monkeypatch.setattr(st, "session_state", SessionStateProxy())
    with suppress(StopException), stoppable(lambda: None, lambda: drawn.append("what was left")):
        overtaken.set()
        raise StopException
    overtaken.clear()
    assert shared(shelf, "key", lambda progress: time.sleep(0.2), browser := Browser()) is None
    assert "bar" in browser.drawn
    assert drawn == []


@pytest.mark.parametrize("raised", [Panic(), ValueError("spoilt"), MemoryError()], ids=lambda error: type(error).__name__)
def test_a_job_that_fails_ends_and_is_forgotten(shelf: LruCache[Job], raised: BaseException):
    def fails(progress):
        raise raised

    with pytest.raises(ModelError if isinstance(raised, Panic) else type(raised)):
        shared(shelf, "asked", fails, st.empty())
    assert shared(shelf, "asked", lambda progress: "done", st.empty()) == "done"
    assert shared(shelf, "asked", fails, st.empty()) == "done"


@pytest.mark.parametrize("raised", [RuntimeError("CUDA error: device-side assert triggered"), LostCardError("Stopped.")])
def test_a_lost_card_is_told_and_ends_the_process(shelf: LruCache[Job], raised: Exception, monkeypatch: pytest.MonkeyPatch):
    ended, codes = threading.Event(), []
    monkeypatch.setattr(jobs, "FAREWELL_SECONDS", 0.0)
    monkeypatch.setattr(jobs.os, "_exit", lambda code: (codes.append(code), ended.set()))

    def fails(progress):
        raise raised

    with pytest.raises(LostCardError):
        shared(shelf, "asked", fails, st.empty())
    assert ended.wait(10)
    # What a supervisor takes for a failure.
    assert codes == [75]


def test_memory_of_a_card_that_is_full_is_told_as_such(shelf: LruCache[Job]):
    def fails(progress):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    with pytest.raises(MemoryError, match="more memory than there is"):
        shared(shelf, "asked", fails, st.empty())


def test_what_a_job_made_does_not_keep_what_it_was_made_with(shelf: LruCache[Job]):
    class Model:
        """As large as one."""

    model = Model()
    alive = weakref.ref(model)

    def work(_: Progress, model: Model = model) -> str:
        return type(model).__name__

    made = shared(shelf, "trace", work, st.empty())
    del model, work
    gc.collect()
    assert made == "Model"
    assert alive() is None
    assert shared(shelf, "trace", lambda _: "another", st.empty()) == "Model"


@pytest.mark.parametrize(
    ("name", "work", "asked"),
    first_now([
        ("minilm", models._run, (Prompt("The cat sat."), "encode", NO_EDITS, GREEDY)),
        ("bahdanau-en-fr", models._run, (Prompt("The cat sat."), "translate", NO_EDITS, GREEDY)),
        ("answer-en", models._run, (ANNA, "answer", NO_EDITS, GREEDY)),
        ("summarize-en", models._run, (Prompt("He came. He saw it. So it was."), "summarize", NO_EDITS, GREEDY)),
        ("bahdanau-en-fr", compute._inspectable, (Prompt("The cat sat."), ())),
        ("minilm", compute._inspectable, (Prompt("The cat sat."), ())),
        ("minilm", view.head_costs, (Prompt("The cat sat."), "zero")),
        ("answer-en", matters.matters, (ANNA, "", ("rollout",))),
    ], 2),
)  # fmt: skip
@pytest.mark.usefixtures("own_models")
def test_no_result_that_is_kept_keeps_its_model(name: str, work: Callable[..., object], asked: tuple[object, ...]):
    model = catalog.load(name)
    alive = weakref.ref(model)
    kept = inspect.unwrap(work)(model, lambda *_: None, *asked)
    del model
    gc.collect()
    assert alive() is None
    assert kept


def test_a_failed_job_is_forgotten_though_its_visitor_has_gone(shelf: LruCache[Job]):
    begun, fail, forgotten = threading.Event(), threading.Event(), threading.Event()

    def fails(progress):
        begun.set()
        fail.wait(30)
        raise ValueError("spoilt")

    job = shelf.get("asked", lambda: Job(fails, failed=lambda job: (shelf.forget("asked", job), forgotten.set())))
    thread, browser = _visit(job)
    assert begun.wait(30)
    browser.gone.set()
    thread.join(30)
    fail.set()
    assert forgotten.wait(30)
    assert shared(shelf, "asked", lambda progress: "done", st.empty()) == "done"


def test_a_job_that_nobody_waits_for_ends_at_its_next_step():
    begun, go_on, steps = threading.Event(), threading.Event(), []

    def long(progress):
        begun.set()
        go_on.wait(30)
        cancellation_point()
        steps.append("went on")

    failed = threading.Event()
    job = Job(long, failed=lambda _: failed.set())
    (one, first), (two, second) = _visit(job), _visit(job)
    assert begun.wait(30)
    first.gone.set()
    one.join(30)
    job._check()
    second.gone.set()
    two.join(30)
    time.sleep(0.01)
    go_on.set()
    assert failed.wait(30)
    assert not steps
    with pytest.raises(CancelledError):
        job.result(st.empty())


def test_a_job_whose_visitor_leaves_the_line_never_begins():
    places, failed, worked = Slots(1), threading.Event(), []
    job = Job(lambda progress: worked.append(1), places=places, failed=lambda _: failed.set())
    with places.place():
        thread, browser = _visit(job)
        assert browser.shown.wait(30)
        browser.gone.set()
        assert failed.wait(30)
        thread.join(30)
    assert not worked


def test_a_visit_that_asks_for_something_else_leaves_what_it_asked_for_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 1000.0)
    begun, go_on, failed = threading.Event(), threading.Event(), threading.Event()

    def long(progress):
        begun.set()
        go_on.wait(30)
        cancellation_point()

    before = Job(long, failed=lambda _: failed.set())
    jobs._leave_behind(before)
    thread, browser = _visit(before)
    assert begun.wait(30)
    browser.gone.set()
    thread.join(30)
    before._check()
    assert Job(lambda progress: "done").result(st.empty()) == "done"
    go_on.set()
    assert failed.wait(30)


def test_who_asks_for_what_was_just_left_gets_it_all_the_same(shelf: LruCache[Job]):
    left = shelf.get("asked", lambda: Job(lambda progress: "never"))
    left._cancelled = True
    assert shared(shelf, "asked", lambda progress: "done", st.empty()) == "done"


def test_a_download_that_hangs_takes_no_place_from_those_who_compute(monkeypatch: pytest.MonkeyPatch):
    begun, hang = threading.Event(), threading.Event()

    def fetch(name: str, **options: object) -> None:
        begun.set()
        hang.wait(30)
        raise ModelError("The hub went away.")

    monkeypatch.setattr(catalog, "fetch", fetch)
    before = computing()._free

    def ask() -> None:
        with suppress(ModelError):
            models.load_model("nobody/has-this", Browser())

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    assert begun.wait(30)
    assert computing()._free == before
    hang.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_thread_ends_with_its_work():
    place, threads = st.empty(), []
    for number in range(3):
        assert Job(lambda _, n=number: threads.append(threading.current_thread()) or n).result(place) == number
    assert len(set(threads)) == 3
    for each in threads:
        each.join(30)
        assert not each.is_alive()


def _visit(job: Job) -> tuple[threading.Thread, Browser]:
    """Somebody who waits for a job until the browser goes."""
    browser = Browser()

    def wait() -> None:
        with suppress(Gone, ValueError):
            job.result(browser)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert browser.shown.wait(30)
    return thread, browser
