"""Work that takes long runs in a thread of its own, so that the page can show how far it is, and people can share it."""

import importlib
import itertools
import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from operator import attrgetter
from threading import Lock
from typing import Any, Generic, Never, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz import memory, settings
from attnviz.core.errors import (
    BusyError,
    CancelledError,
    LostCardError,
    ModelError,
    ModelTooLargeError,
    beyond_machine,
    cancellable,
)
from attnviz.models import catalog
from attnviz.models.base import Progress

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


Value = TypeVar("Value")


def held_bytes(value: Any) -> int:
    """Bytes of the arrays that a value holds, or what it says itself."""
    if hasattr(value, "nbytes"):
        return value.nbytes
    if is_dataclass(value):
        return sum(held_bytes(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, Mapping):
        return sum(map(held_bytes, value.values()))
    return sum(map(held_bytes, value)) if isinstance(value, tuple | list) else 0


class LruCache(Generic[Value]):
    """Values by what they were asked for with, shared by every visit.

    most    how many are kept
    nbytes  what they may weigh together; the one that was asked for last stays whatever it weighs

    >>> shelf = LruCache(most=9, nbytes=100)
    >>> for word in ("a", "b", "c"):
    ...     _ = shelf.get(word, word.upper)
    ...     shelf.weigh(word, 40)
    >>> shelf.get("a", lambda: "made again"), shelf.get("c", lambda: "made again")
    ('made again', 'C')
    """

    def __init__(self, most: int, nbytes: int) -> None:
        self._most, self._nbytes = most, nbytes
        self._lock = Lock()
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._weights: dict[Hashable, int] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value that is kept, else a new one. Everybody waits for `make`: it may begin long work, and no more."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            self._make_room()
            return self._values[key]

    def peek(self, key: Hashable) -> Value | None:
        """Return the value that is kept, as if nobody had asked; None: there is none."""
        return self._values.get(key)

    def weigh(self, key: Hashable, nbytes: int) -> None:
        """Says what a value takes, as soon as it is known; until then it weighs nothing."""
        with self._lock:
            if key in self._values:
                self._weights[key] = nbytes
                self._make_room()

    def forget(self, key: Hashable, value: Value) -> None:
        """Lets go of one value, unless another has taken its place."""
        with self._lock:
            if self._values.get(key) is value:
                del self._values[key]
                self._weights.pop(key, None)

    def clear(self) -> None:
        """Lets go of all of them."""
        with self._lock:
            self._values.clear()
            self._weights.clear()

    def _make_room(self) -> None:
        while len(self._values) > 1 and (len(self._values) > self._most or sum(self._weights.values()) > self._nbytes):
            key, _ = self._values.popitem(last=False)
            self._weights.pop(key, None)


def check_room(name: str) -> None:
    """Stops at a further model of the hub where memory is nearly full; most of the catalog are small.

    Raises:
        ModelTooLargeError: it is.
    """
    is_small = name in catalog.CATALOG and not catalog.CATALOG[name].large
    if not is_small and (held := memory.read()) and held.is_tight:
        raise ModelTooLargeError(
            f"There is no memory left for {name}: choose a model that travels with attnviz, or come back later."
        )


def make_room(traces: LruCache[Any]) -> None:
    """Lets go of every trace that is kept where memory is nearly full: each is computed again when it is asked for."""
    if (held := memory.read()) and held.is_tight:
        traces.clear()


# When nobody has worked for so long, what was left behind is cleared away: a page that is being drawn would wait for that.
IDLE_SECONDS = 10.0


@cache
def watch_for_idle_time() -> None:
    """Begins to watch, once a process."""
    threading.Thread(target=clear_when_idle, args=(PRIORITY,), name="attnviz-idle", daemon=True).start()


def clear_when_idle(priority: Priority, seconds: float = IDLE_SECONDS) -> Never:
    """Gives back what work has left behind, each time that nobody has worked for a while since."""
    seen = cleared = priority.ended
    while True:
        time.sleep(seconds)
        before, seen = seen, priority.ended
        if seen is not None and seen == before and seen != cleared:
            memory.give_back()
            cleared = seen


# PyTorch and transformers come with them.
_MODULES = ("torch", "attnviz.models.tasks", "attnviz.models.hub.minilm", "transformers.models.bert.modeling_bert")
# Whoever imports some of it without all: two threads that import the same in another order would wait for each other.
TURN = threading.Lock()
# So long a page that is being drawn goes first.
_COURTESY_SECONDS = 2.0


def _import_all() -> None:
    for name in _MODULES:
        if not _needed.is_set():
            PRIORITY.give_way(_COURTESY_SECONDS)
        with TURN:
            importlib.import_module(name)


_needed = threading.Event()
_starting = threading.Lock()


def begin() -> threading.Thread:
    """Begins, once, without making anybody wait."""
    with _starting:
        return _import_thread()


@cache
def _import_thread() -> threading.Thread:
    # Made when it begins: in a process that was forked, Python 3.13.0 starts no thread that was made before.
    thread = threading.Thread(target=_import_all, name="attnviz-import", daemon=True)
    thread.start()
    return thread


def finish() -> None:
    """Waits until it is done, and begins it if nobody has."""
    _needed.set()
    begin().join()


Made = TypeVar("Made")
# What is done sooner than this needs no progress bar: it would only flicker.
PATIENCE_SECONDS = 0.4
# A page may wait for several models in one run, and every container has a key of its own.
_NUMBERS = itertools.count()
REDRAW_SECONDS = 0.15
PICTURE_PIXELS = 640
# A page that runs again asks again: for so long work goes on though nobody waits.
GRACE_SECONDS = 1.0
# Work that has waited for places longer than this ends, and its page says that there is too much to do.
BUSY_SECONDS = 12.0
# A page has so long to say that the card is lost; then this process ends as one that should be begun again (EX_TEMPFAIL).
FAREWELL_SECONDS, BEGIN_AGAIN = 5.0, 75


def _begin(work: Callable[[], Made]) -> Future[Made]:
    """Begins work in a thread that ends with it: for each thread that lives on, PyTorch's products of matrices keep 4 MB."""
    watch_for_idle_time()
    thread = ThreadPoolExecutor(1, thread_name_prefix="attnviz")
    begun = thread.submit(work)
    thread.shutdown(wait=False)
    return begun


def end_soon() -> None:
    """End this process, which cannot compute any more, so that what supervises it starts another."""
    farewell = threading.Timer(FAREWELL_SECONDS, os._exit, [BEGIN_AGAIN])
    farewell.daemon = True
    farewell.start()


class Job(Generic[Made]):
    """A function running in the background, which is told how to report its progress, for everybody who waits for its result.

    It begins when somebody waits, and ends whatever is raised in it: at the next cancellation point, or report of progress,
    once nobody waits any more. `failed` is called then, with the job, before anybody is told.
    """

    def __init__(
        self,
        work: Callable[[Progress], Made],
        *,
        places: Slots | None = None,
        failed: Callable[["Job[Made]"], None] = lambda _: None,
        expected: float = 0.0,
    ) -> None:
        self._work: Callable[[Progress], Made] | None = work
        self._failed, self._expected = failed, expected
        self._places = places or computing()
        self._stage = "Waiting for a free place"
        self._fraction: float | None = None
        self._lock = threading.Lock()
        self._waiting, self._left_at = 0, 0.0
        self._cancelled = False
        self._future: Future[Made] | None = None
        # Of the page that asked first.
        self._page: PageWait | None = st.session_state.get("waits")

    def result(self, place: DeltaGenerator, pixels: int = PICTURE_PIXELS) -> Made:
        """Waits, showing the progress in `place`, over a blank as high (pixels) as what will stand there.

        Raises:
            CancelledError: it has ended because nobody waited; a new job may be begun.
            Exception: whatever the work raised.
        """
        _leave_behind(self)
        patience, bar = PATIENCE_SECONDS, None
        with self._awaited() as future:
            while True:
                try:
                    result = future.result(timeout=patience)
                except NotYet:
                    if future.done():
                        raise
                    # A browser that has gone, or asks for something else, ends this run of the page here.
                    progress = (self._fraction or 0.0, f"{self._stage} …")
                    if bar:
                        # What this returns counts as inside the bar: a thousand, each inside the last, are too deep for Python.
                        bar.progress(*progress)
                    else:
                        bar = _waiting(place, pixels, *progress)
                    _STOPPABLE.get()[1]()
                    patience = REDRAW_SECONDS
                else:
                    place.empty()
                    return result

    @property
    def is_done(self) -> bool:
        """Whether nobody needs to wait for it any more."""
        return self._future is not None and self._future.done()

    def leave(self) -> None:
        """Says that who waited before asks for something else now: without others who wait, it ends at once."""
        self._left_at = -math.inf

    @contextmanager
    def _awaited(self) -> Iterator[Future[Made]]:
        """Counts one more who waits."""
        with self._lock:
            if self._cancelled:
                raise CancelledError("This has ended, because nobody waited for it: ask again.")
            self._waiting += 1
            if self._future is None:
                self._future = _begin(self._run)
        try:
            yield self._future
        finally:
            with self._lock:
                self._waiting -= 1
                self._left_at = time.monotonic()

    def _run(self) -> Made:
        try:
            patience = BUSY_SECONDS if self._places is computing() else math.inf
            with self._places.place(self._check, self._expected, page=self._page, patience=patience):
                return self._at_work()
        except Exception as error:
            self._failed(self)
            limit = beyond_machine(error)
            if isinstance(error, LostCardError) or isinstance(limit, LostCardError):
                end_soon()
            if limit is None:
                raise
        except BaseException as error:
            # Such as a panic of a library that is written in Rust: a page that met it would never end.
            self._failed(self)
            raise ModelError("A library that this model needs broke off: try another text, or another model.") from error
        # Outside of the handler, so that it does not come with what failed.
        raise limit

    def _at_work(self) -> Made:
        self._report("Getting ready", None)
        # A result that is kept must not keep what it was made with, such as a model that the shelf has let go of.
        work, self._work = self._work, None
        assert work is not None
        if self._places is not computing():
            return work(self._report)
        with PRIORITY.at_work():
            return work(self._report)

    def _report(self, stage: str, fraction: float | None) -> None:
        self._stage, self._fraction = stage, fraction
        self._check()

    def _check(self) -> None:
        with self._lock:
            if not self._waiting and time.monotonic() - self._left_at > GRACE_SECONDS:
                self._cancelled = True
                raise CancelledError("Nobody waits for this any more.")


def _leave_behind(job: Job[Any]) -> None:
    """Leave the job that this visit waited for before: it waits for one at a time."""
    before: Job[Any] | None = st.session_state.get("job", lambda: None)()
    if before is not None and before is not job:
        before.leave()
    # A session must not keep what the shelf has let go of.
    st.session_state["job"] = weakref.ref(job)


def shared(
    shelf: LruCache[Job[Any]],
    key: Hashable,
    work: Callable[[Progress], Any],
    place: DeltaGenerator,
    places: Slots | None = None,
    expected: float = 0.0,
    pixels: int = PICTURE_PIXELS,
) -> Any:
    """Run `work` once for everybody who asks with the same key, and return what it gives; what failed is not kept.

    `expected` is how many seconds it may take: shorter work goes first. `pixels`: how high what will stand there is.

    Raises:
        Exception: whatever the work raised.
    """
    forget: Callable[[Job[Any]], None] = lambda failed: shelf.forget(key, failed)
    while True:
        job = shelf.get(key, lambda: Job(work, places=places, failed=forget, expected=expected))
        try:
            return job.result(place, pixels)
        except CancelledError:
            # It was left by all others in the very moment in which this visit asked.
            shelf.forget(key, job)


# What ends the work that is waited for here, where a person can, and what draws as much as is there. This is no key of the
# session: a run that is overtaken could not take it away.
_STOPPABLE: ContextVar[tuple[Callable[[], None] | None, Callable[[], None]]] = ContextVar(
    "stoppable", default=(None, lambda: None)
)


@contextmanager
def stoppable(stop: Callable[[], None], draw: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Show a button that calls `stop` beside the bar of what is waited for within this context; `draw` shows what is there."""
    outer = _STOPPABLE.set((stop, draw))
    try:
        yield
    finally:
        _STOPPABLE.reset(outer)


@contextmanager
def at_a_place(expected: float = 0.0) -> Iterator[None]:
    """Lets a page itself do what is `expected` to take the processor for so many seconds, as one of those who compute."""
    with computing().place(expected=expected, page=st.session_state.get("waits")):
        yield


def _waiting(place: DeltaGenerator, pixels: int, fraction: float, stage: str) -> DeltaGenerator:
    """Draw a bar above a blank; where the picture of the last run still stands, over that, so that nothing moves."""
    state = st.session_state
    is_over = pixels == PICTURE_PIXELS and state.get("pictured", "") == state.get("page")
    box = place.container(key=f"busy-{next(_NUMBERS)}") if is_over else place.container()
    # Complete before the blank is drawn: an empty place that grows into a bar would push the blank down.
    bar = box.progress(fraction, text=stage)
    if stop := _STOPPABLE.get()[0]:
        box.button("Stop", icon=":material/stop:", key=f"stop-work-{next(_NUMBERS)}", on_click=stop)
    if not is_over:
        box.skeleton(height=pixels)
    return bar
