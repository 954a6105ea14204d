"""Slots to work in: a bounded number of them, shared so that short work never waits for long work to end."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from attnviz import settings
from attnviz.core.cancellation import cancellable

# Work keeps its place for so long at least, if it wants to: handing it over costs time, too.
SLICE_SECONDS = 0.25
# Downloads compute nothing, so they share no place with models; and one that hangs must not keep all others waiting.
DOWNLOADS = 4
_LOOK_SECONDS = 0.1


class Turn:
    """One piece of work: how long it has had a place, or is expected to want one (seconds). Two turns are never equal."""

    def __init__(self, expected: float) -> None:
        self.used = expected
        self.entered = 0.0


class Slots:
    """Whoever has worked least so far goes first, of equals the first to come; long work makes room between its steps.

    What takes a moment is thus done in a moment, however much long work there is ("least attained service first").
    """

    def __init__(self, count: int) -> None:
        self._changed = threading.Condition()
        self._free = count
        self._waiting: list[Turn] = []

    @contextmanager
    def place(self, check: Callable[[], None] = lambda: None, expected: float = 0.0) -> Iterator[None]:
        """Waits for a place, and holds it, but for pauses at the cancellation points of what is done there.

        `check` is called while this waits, and at every cancellation point: what it raises ends the work. Work that is
        `expected` to take so many seconds lets shorter work go first from the beginning.
        """
        turn = Turn(expected)
        self._enter(turn, check)

        def pause() -> None:
            check()
            self._make_room(turn, check)

        try:
            with cancellable(pause):
                yield
        finally:
            self._leave(turn)

    def _enter(self, turn: Turn, check: Callable[[], None]) -> None:
        with self._changed:
            self._waiting.append(turn)
            try:
                while not self._free or turn is not min(self._waiting, key=lambda each: each.used):
                    check()
                    self._changed.wait(_LOOK_SECONDS)
                self._free -= 1
                turn.entered = time.monotonic()
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()

    def _leave(self, turn: Turn) -> None:
        with self._changed:
            # Who was told to end while it waited has no place to leave.
            if turn.entered:
                turn.used += time.monotonic() - turn.entered
                turn.entered = 0.0
                self._free += 1
                self._changed.notify_all()

    def _make_room(self, turn: Turn, check: Callable[[], None]) -> None:
        had = time.monotonic() - turn.entered
        with self._changed:
            others = any(each.used < turn.used + had for each in self._waiting)
        if others and had > SLICE_SECONDS:
            self._leave(turn)
            self._enter(turn, check)


def workers() -> int:
    """How many models compute at once, ATTNVIZ_RUNS: two keep both cores of a small server busy."""
    return settings.limit("ATTNVIZ_RUNS")


@cache
def computing() -> Slots:
    """Where models compute, and whatever else takes the processor for long."""
    return Slots(workers())


@cache
def downloading() -> Slots:
    """Where models of the hub are fetched."""
    return Slots(DOWNLOADS)
