"""Slots to work in: a bounded number of them, shared so that short work never waits for long work to end."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter

from attnviz import memory, settings
from attnviz.core.errors import BusyError, cancellable

# A page that is complete is still to be drawn, at home by the same cores.
DRAWING_SECONDS = 0.4


class Priority:
    """Who is at work, so that what can wait gives way: a training, or a picture that is drawn again and again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working: set[int] = set()
        self._drawn = 0.0
        self._ended = 0

    @property
    def ended(self) -> int | None:
        """How many times somebody has ended work; None while anybody is at work."""
        return None if self._working else self._ended

    @contextmanager
    def at_work(self, drawing: float = 0.0) -> Iterator[None]:
        """While this thread is at work, and then a browser draws what it made (seconds), others give way."""
        me = threading.get_ident()
        with self._changed:
            self._working.add(me)
        try:
            yield
        finally:
            with self._changed:
                self._working.discard(me)
                self._ended += 1
                self._drawn = max(self._drawn, time.monotonic() + drawing)
                self._changed.notify_all()

    def give_way(self, seconds: float) -> bool:
        """Waits while anybody is at work, so long at most; whether all are done. Who is at work waits for nobody."""
        begun = time.monotonic()
        with self._changed:
            if threading.get_ident() in self._working:
                return True
            while self._working or time.monotonic() < self._drawn:
                if (left := begun + seconds - time.monotonic()) <= 0:
                    return False
                self._changed.wait(left if self._working else min(left, max(self._drawn - time.monotonic(), 0)))
        return True


# Of everybody whom this server serves.
PRIORITY = Priority()


# Work keeps its place for so long at least, if it wants to: handing it over costs time, too.
SLICE_SECONDS = 0.25
# Work that is expected to take so long is long: it may be told that there is too much of it.
LONG_SECONDS = 0.5
# Of the time that is worked, how much goes to whoever has been waited for the longest, as soon as so many seconds are owed.
ELDEST_SHARE, OWED_SECONDS = 0.3, 0.25
# Where no more than so many wait, each is told so many times later that there is too much to do: a few long texts of a single
# visitor are no crowd.
FEW, PATIENT = 4, 5
# A page waits for several pieces of work, one after another: for all of them so many times as long as for one.
PAGE_PATIENCE = 1.25
# The share of the memory from which on one piece of long work is begun at a time.
FULL = 0.6
# Downloads compute nothing, so they share no place with models; and one that hangs must not keep all others waiting.
DOWNLOADS = 4
_LOOK_SECONDS = 0.1
BUSY = "This server computes for too many people just now: try again in a minute."


@dataclass(eq=False)
class PageWait:
    """When a page was asked for, and how long its work has waited for places since (seconds)."""

    asked: float = field(default_factory=time.monotonic)
    waited: float = 0.0


@dataclass(eq=False)
class Turn:
    """One piece of work: how long it may take, the page that waits for it, and what it has had so far (seconds).

    used      how long it has had a place; at first how long it is expected to want one
    waited    how long it has waited for places
    patience  how long it may wait
    eldest    whether it has its place because its page has been waited for the longest
    """

    expected: float
    page: PageWait
    patience: float
    used: float = 0.0
    waited: float = 0.0
    entered: float = 0.0
    has_begun: bool = False
    eldest: bool = False

    def __post_init__(self) -> None:
        self.used = self.expected

    @property
    def asked(self) -> float:
        return self.page.asked

    @property
    def is_long(self) -> bool:
        return self.expected >= LONG_SECONDS


class Slots:
    """Whoever has worked least so far goes first, of equals the first to come; long work makes room between its steps.

    What takes a moment is thus done in a moment, however much long work there is ("least attained service first"). Of the time
    that is worked while others wait, a share goes to whoever has been waited for the longest, so that long work ends, too,
    however much short work comes.

    `is_full` tells whether no further long work may begin beside what has begun: what has begun keeps its tensors. `extra`
    places are there beside the others, for work that wants less than a slice: it need not wait for long work to make room.
    """

    def __init__(self, count: int, is_full: Callable[[], bool] = lambda: False, extra: int = 0) -> None:
        self._changed = threading.Condition()
        self._free, self._extra = count, extra
        self._waiting: list[Turn] = []
        self._owed = 0.0
        self._long_begun = 0
        self._is_full = is_full

    @contextmanager
    def place(
        self,
        check: Callable[[], None] = lambda: None,
        expected: float = 0.0,
        *,
        page: PageWait | None = None,
        patience: float = math.inf,
    ) -> Iterator[None]:
        """Waits for a place, and holds it, but for pauses at the cancellation points of what is done there.

        `check` is called while this waits, and at every cancellation point: what it raises ends the work. Work that is
        `expected` to take so many seconds lets shorter work go first from the beginning. `page` is who waits for it.

        Raises:
            BusyError: it has waited longer than `patience` seconds, its page a little longer, or it is long where others have
                waited half as long; where few wait, only after several times as long.
        """
        turn = Turn(expected, page or PageWait(), max(patience, 2 * expected))
        with self._changed:
            if turn.is_long and any(each.waited > self._patience(patience) / 2 for each in self._waiting):
                raise BusyError(BUSY)
        self._enter(turn, check)

        def pause() -> None:
            check()
            self._make_room(turn, check)

        try:
            with cancellable(pause):
                yield
        finally:
            self._leave(turn)
            with self._changed:
                self._long_begun -= turn.is_long and turn.has_begun

    def _enter(self, turn: Turn, check: Callable[[], None]) -> None:
        with self._changed:
            self._waiting.append(turn)
            begun, before, page_before = time.monotonic(), turn.waited, turn.page.waited
            try:
                while turn is not self._next():
                    check()
                    self._changed.wait(_LOOK_SECONDS)
                    waited = time.monotonic() - begun
                    turn.waited, turn.page.waited = before + waited, max(turn.page.waited, page_before + waited)
                    patience = self._patience(turn.patience)
                    if turn.waited > patience or turn.page.waited > PAGE_PATIENCE * patience:
                        raise BusyError(BUSY)
                self._free -= 1
                self._long_begun += turn.is_long and not turn.has_begun
                turn.entered, turn.has_begun, turn.eldest = time.monotonic(), True, self._owed >= OWED_SECONDS
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()

    def _patience(self, patience: float) -> float:
        return patience if len(self._waiting) > FEW else PATIENT * patience

    def _next(self) -> Turn | None:
        """Choose whose turn it is of those who wait; None: nobody's."""
        if self._free <= 0:
            short = [turn for turn in self._waiting if turn.used < SLICE_SECONDS] if self._free > -self._extra else []
            return min(short, key=attrgetter("used"), default=None)
        fresh = [turn for turn in self._waiting if turn.is_long and not turn.has_begun] if self._long_begun else []
        ready = [turn for turn in self._waiting if turn not in fresh] if fresh and self._is_full() else self._waiting
        by = attrgetter("asked" if self._owed >= OWED_SECONDS else "used")
        return min(ready, key=by, default=None)

    def _leave(self, turn: Turn) -> None:
        with self._changed:
            # Who was told to end while it waited has no place to leave.
            if turn.entered:
                had = time.monotonic() - turn.entered
                turn.used += had
                turn.entered = 0.0
                owed = self._owed + had * (ELDEST_SHARE - turn.eldest)
                self._owed = min(max(owed, 0.0), 2 * OWED_SECONDS) if self._waiting else 0.0
                self._free += 1
                self._changed.notify_all()

    def _make_room(self, turn: Turn, check: Callable[[], None]) -> None:
        had = time.monotonic() - turn.entered
        with self._changed:
            owed = self._owed + had * (ELDEST_SHARE - turn.eldest) >= OWED_SECONDS
            others = any(each.used < turn.used + had or (owed and each.asked < turn.asked) for each in self._waiting)
        if others and had > SLICE_SECONDS:
            self._leave(turn)
            self._enter(turn, check)


def workers() -> int:
    """Return how many models compute at once, ATTNVIZ_RUNS: two keep both cores of a small server busy."""
    return settings.limit("ATTNVIZ_RUNS")


@cache
def computing() -> Slots:
    """Return the places where models compute, and whatever else takes the processor for long."""
    return Slots(workers(), _is_full, extra=1)


def _is_full() -> bool:
    return (held := memory.read()) is not None and held.used > FULL * held.limit


@cache
def downloading() -> Slots:
    """Return the places where models of the hub are fetched."""
    return Slots(DOWNLOADS)
