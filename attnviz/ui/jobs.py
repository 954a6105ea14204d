"""Work that takes long runs in a thread of its own, so that the page can show how far it is, and people can share it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache
from typing import Generic, TypeVar

from streamlit.delta_generator import DeltaGenerator

from attnviz import settings
from attnviz.models.protocol import Progress

Result = TypeVar("Result")
# What is done sooner than this needs no progress bar: it would only flicker.
PATIENCE_SECONDS = 0.4
REDRAW_SECONDS = 0.15
PICTURE_PIXELS = 640
# The jobs that run now, of everybody.
_AT_WORK: set[object] = set()


def working() -> bool:
    """Whether anybody's job is running: what can wait should."""
    return bool(_AT_WORK)


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
        _AT_WORK.add(self)
        try:
            return work(self._report)
        finally:
            _AT_WORK.discard(self)

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
