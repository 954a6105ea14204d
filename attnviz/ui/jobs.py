"""Work that takes long runs in a thread of its own, so that the page can show how far it is, and people can share it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import Generic, TypeVar

from streamlit.delta_generator import DeltaGenerator

from attnviz.models.protocol import Progress

Result = TypeVar("Result")
# Two at once keep both cores of a small server busy; more would only slow each other down.
_WORKERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="attnviz")
# What is done sooner than this needs no progress bar: it would only flicker.
PATIENCE_SECONDS = 0.4
REDRAW_SECONDS = 0.15


class Job(Generic[Result]):
    """A function running in the background, which is told how to report its progress."""

    def __init__(self, work: Callable[[Progress], Result]) -> None:
        self._stage = "Waiting for a free place"
        self._fraction: float | None = None
        self._future: Future[Result] = _WORKERS.submit(work, self._report)

    def _report(self, stage: str, fraction: float | None) -> None:
        self._stage, self._fraction = stage, fraction

    def result(self, place: DeltaGenerator) -> Result:
        """Waits, showing the progress in `place`.

        Raises:
            Exception: whatever the work raised.
        """
        patience = PATIENCE_SECONDS
        while True:
            try:
                result = self._future.result(timeout=patience)
            except NotYet:
                if self._future.done():
                    raise
                place.progress(self._fraction or 0.0, text=f"{self._stage} …")
                patience = REDRAW_SECONDS
            else:
                place.empty()
                return result
