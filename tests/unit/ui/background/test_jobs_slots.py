"""Who gets a place to work, and when long work makes room."""

import threading
import time
from contextlib import suppress

import pytest

from attnviz.core.errors import BusyError, CancelledError, cancellation_point
from attnviz.ui.background import jobs
from attnviz.ui.background.jobs import PageWait, Slots


@pytest.fixture(autouse=True)
def _no_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work makes room at its first step."""
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.0)


def test_short_work_passes_long_work_between_its_steps():
    shared, order = Slots(1), []
    held, more = threading.Event(), threading.Event()

    def long() -> None:
        with shared.place():
            held.set()
            more.wait(30)
            cancellation_point()
            order.append("long")

    def short() -> None:
        with shared.place():
            order.append("short")

    threads = [threading.Thread(target=work, daemon=True) for work in (long, short)]
    threads[0].start()
    assert held.wait(30)
    threads[1].start()
    wait_until(lambda: len(shared._waiting) == 1)
    assert not order
    more.set()
    for each in threads:
        each.join(30)
    assert order == ["short", "long"]
    assert shared._free == 1


def test_who_has_worked_least_goes_first_and_nobody_makes_room_for_who_has_worked_longer():
    shared, order = Slots(1), []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with shared.place():
            inside.set()
            go_on.wait(30)
            time.sleep(0.02)
            cancellation_point()
            order.append("first again")

    def second() -> None:
        with shared.place():
            # By now the other has worked longer.
            cancellation_point()
            order.append("second")

    threads = [threading.Thread(target=work, daemon=True) for work in (first, second)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    wait_until(lambda: len(shared._waiting) == 1)
    go_on.set()
    for each in threads:
        each.join(30)
    assert order == ["second", "first again"]


def test_what_is_expected_to_take_long_lets_what_came_later_and_is_short_go_first():
    shared, order = Slots(1), []

    def work(name: str, expected: float) -> None:
        with shared.place(expected=expected):
            order.append(name)

    threads = [threading.Thread(target=work, args=each, daemon=True) for each in (("long", 8.0), ("short", 0.01))]
    with shared.place():
        for n_waiting, each in enumerate(threads, start=1):
            each.start()
            wait_until(lambda n=n_waiting: len(shared._waiting) == n)
    for each in threads:
        each.join(30)
    assert order == ["short", "long"]


def test_short_work_has_a_place_beside_long_work_that_makes_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0.25)
    shared, order = Slots(1, extra=1), []

    def work(name: str, expected: float, inside: threading.Event, go_on: threading.Event) -> None:
        with shared.place(expected=expected):
            inside.set()
            order.append(name)
            go_on.wait(30)

    calls = [(*each, threading.Event(), threading.Event()) for each in (("short", 0.1), ("long", 0.3), ("short, too", 0.1))]
    threads = [threading.Thread(target=work, args=each, daemon=True) for each in calls]
    with shared.place(expected=9.0):
        threads[0].start()
        assert calls[0][2].wait(30)
        # A second short one waits while the first has the place, and long work all the time.
        for n_waiting, each in enumerate(threads[1:], start=1):
            each.start()
            wait_until(lambda n=n_waiting: len(shared._waiting) == n)
        time.sleep(0.15)
        assert order == ["short"]
        calls[0][3].set()
        assert calls[2][2].wait(30)
        assert order == ["short", "short, too"]
        calls[2][3].set()
        threads[2].join(30)
        assert not calls[1][2].wait(0.15)
    calls[1][3].set()
    for each in threads:
        each.join(30)
    assert order == ["short", "short, too", "long"]
    assert shared._free == 1


def test_who_is_told_to_end_while_it_waits_leaves_the_line_and_the_place_is_free():
    shared = Slots(1)
    ends = threading.Event()
    raised = []

    def check() -> None:
        if ends.is_set():
            raise CancelledError("Nobody waits.")

    def left() -> None:
        try:
            with shared.place(check):
                raised.append("worked")
        except CancelledError:
            raised.append("left")

    with shared.place():
        thread = threading.Thread(target=left, daemon=True)
        thread.start()
        wait_until(lambda: len(shared._waiting) == 1)
        ends.set()
        thread.join(30)
    assert raised == ["left"]
    assert shared._free == 1
    assert not shared._waiting


def test_what_is_raised_while_it_makes_room_frees_no_place_twice():
    shared = Slots(1)
    ends, inside, go_on = threading.Event(), threading.Event(), threading.Event()

    def check() -> None:
        if ends.is_set():
            raise CancelledError("Nobody waits.")

    def long() -> None:
        with suppress(CancelledError), shared.place(check):
            inside.set()
            go_on.wait(30)
            cancellation_point()
            ends.clear()

    def short() -> None:
        with shared.place():
            ends.set()
            thread.join(30)

    thread, other = (threading.Thread(target=work, daemon=True) for work in (long, short))
    thread.start()
    assert inside.wait(30)
    other.start()
    wait_until(lambda: len(shared._waiting) == 1)
    go_on.set()
    other.join(30)
    assert not thread.is_alive()
    assert ends.is_set()
    assert shared._free == 1


def test_long_work_ends_though_short_work_comes_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "OWED_SECONDS", 0.02)
    shared, ended, steps = Slots(1), threading.Event(), []

    def long() -> None:
        with shared.place(expected=7.0):
            for _ in range(5):
                time.sleep(0.01)
                steps.append(len(shared._waiting))
                cancellation_point()
        ended.set()

    def short() -> None:
        while not ended.is_set():
            with shared.place():
                time.sleep(0.005)

    threads = [threading.Thread(target=work, daemon=True) for work in (short, short, short, long)]
    for each in threads:
        each.start()
    in_time = ended.wait(10)
    ended.set()
    for each in threads:
        each.join(30)
    assert in_time
    # Short work has waited beside each of its steps.
    assert min(steps) > 0
    assert shared._free == 1


def test_of_few_who_wait_nobody_is_told_soon() -> None:
    shared, told = Slots(1), []

    def long() -> None:
        with shared.place(expected=0.1, patience=0.2):
            told.append("worked")

    threads = [threading.Thread(target=long, daemon=True) for _ in range(2)]
    with shared.place():
        for each in threads:
            each.start()
        wait_until(lambda: len(shared._waiting) == 2 and min(each.waited for each in shared._waiting) > 0.4)
    for each in threads:
        each.join(30)
    assert told == ["worked", "worked"]


def test_who_has_waited_too_long_is_told_and_so_is_at_once_who_would_wait_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "FEW", 0)
    shared, told = Slots(1), []

    def long() -> None:
        try:
            with shared.place(expected=0.5, patience=1.0):
                told.append("worked")
        except BusyError:
            told.append("told")

    thread = threading.Thread(target=long, daemon=True)
    with shared.place():
        thread.start()
        wait_until(lambda: shared._waiting and shared._waiting[0].waited > 0.5)
        begun = time.monotonic()
        with pytest.raises(BusyError), shared.place(expected=0.5, patience=1.0):
            told.append("never")
        assert time.monotonic() - begun < 0.5
        thread.join(30)
    assert told == ["told"]
    assert (shared._free, shared._waiting) == (1, [])


def test_a_page_that_has_waited_for_other_work_is_told_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "FEW", 0)
    shared = Slots(1)

    def held() -> None:
        with shared.place():
            inside.set()
            ended.wait(30)

    inside, ended = threading.Event(), threading.Event()
    thread = threading.Thread(target=held, daemon=True)
    thread.start()
    inside.wait(30)
    page = PageWait(time.monotonic() - 3600)
    with pytest.raises(BusyError), shared.place(expected=0.1, patience=0.3, page=page):
        pass
    # What it has computed meanwhile, for an hour, is no waiting.
    assert 0.3 < page.waited < 60
    page.waited = 37.4
    with pytest.raises(BusyError), shared.place(expected=0.1, patience=30.0, page=page):
        pass
    assert 37.5 < page.waited < 60
    ended.set()
    thread.join(30)


def test_where_memory_is_full_no_long_work_begins_beside_another_and_short_work_does() -> None:
    full = threading.Event()
    shared, order = Slots(2, full.is_set), []
    inside, go_on = threading.Event(), threading.Event()

    def first() -> None:
        with shared.place(expected=5.0):
            inside.set()
            go_on.wait(30)
            order.append("first")

    def second() -> None:
        with shared.place(expected=5.0):
            order.append("second")

    full.set()
    threads = [threading.Thread(target=work, daemon=True) for work in (first, second)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    wait_until(lambda: len(shared._waiting) == 1)
    with shared.place():
        order.append("short")
    time.sleep(0.3)
    assert order == ["short"]
    go_on.set()
    for each in threads:
        each.join(30)
    assert order == ["short", "first", "second"]
    assert (shared._free, shared._long_begun) == (2, 0)


def wait_until(holds) -> None:
    """Waits until something another thread does is done."""
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")
