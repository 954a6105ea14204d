"""Work that takes long runs in a thread of its own, so that the page can show how far it is, and people can share it."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

from streamlit.delta_generator import DeltaGenerator

from attnviz import settings
from attnviz.models.base import Progress

Result = TypeVar("Result")
# What is done sooner than this needs no progress bar: it would only flicker.
PATIENCE_SECONDS = 0.4
REDRAW_SECONDS = 0.15
PICTURE_PIXELS = 640
# A page that is complete is still to be drawn, at home by the same cores.
DRAWING_SECONDS = 0.4


class Courtesy:
    """Who is at work, so that what can wait gives way: a training, or a picture that is drawn again and again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._working: set[int] = set()
        self._drawn = 0.0

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
COURTESY = Courtesy()


def workers() -> int:
    """How many models compute at once, ATTNVIZ_RUNS: two keep both cores of a small server busy."""
    return settings.limit("ATTNVIZ_RUNS")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=workers(), thread_name_prefix="attnviz")


class Job(Generic[Result]):
    """A function running in the background, which is told how to report its progress."""

    def __init__(self, work: Callable[[Progress], Result]) -> None:
        self._stage = "Waiting for a free place"
        self._fraction: float | None = None
        self._future: Future[Result] = _pool().submit(self._run, work)

    def _run(self, work: Callable[[Progress], Result]) -> Result:
        self._report("Getting ready", None)
        with COURTESY.at_work():
            return work(self._report)

    def _report(self, stage: str, fraction: float | None) -> None:
        self._stage, self._fraction = stage, fraction

    def result(self, place: DeltaGenerator) -> Result:
        """Waits, showing the progress in `place`, over a blank as large as the picture that will stand there.

        Raises:
            Exception: whatever the work raised.
        """
        patience, bar = PATIENCE_SECONDS, None
        while True:
            try:
                result = self._future.result(timeout=patience)
            except NotYet:
                if self._future.done():
                    raise
                bar = bar or _waiting(place)
                bar.progress(self._fraction or 0.0, text=f"{self._stage} …")
                patience = REDRAW_SECONDS
            else:
                place.empty()
                return result


def _waiting(place: DeltaGenerator) -> DeltaGenerator:
    blank = place.container()
    bar = blank.empty()
    blank.skeleton(height=PICTURE_PIXELS)
    return bar
