"""Work that takes long runs in a thread of its own, so that the page can show how far it is, and people can share it."""

import itertools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.errors import CancelledError, LostCardError, ModelError, beyond_machine
from attnviz.models.base import Progress
from attnviz.ui.background.memory_use import LruCache, watch_for_idle_time
from attnviz.ui.background.slots import PRIORITY, PageWait, Slots, computing

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
                    bar = bar.progress(*progress) if bar else _waiting(place, pixels, *progress)
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


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """Show a button that calls `stop` beside the bar of what is waited for within this context."""
    st.session_state["stop_work"] = stop
    try:
        yield
    finally:
        st.session_state.pop("stop_work", None)


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
    if stop := state.get("stop_work"):
        box.button("Stop", icon=":material/stop:", key=f"stop-work-{next(_NUMBERS)}", on_click=stop)
    if not is_over:
        box.skeleton(height=pixels)
    return bar
