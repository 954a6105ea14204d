"""The line of runs that wait for one of the few places to train in."""

import threading
from collections.abc import Callable


class Line:
    """The places where runs may train at once, and the line of those who wait for one, first come first served."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._changed = threading.Condition()
        self._training: set[object] = set()
        self._waiting: list[object] = []

    def enter(self, run: object, go_on: Callable[[], bool]) -> bool:
        """Waits for a place and takes it; False where `go_on` says that the run no longer wants one."""
        with self._changed:
            self._waiting.append(run)
            try:
                while self._waiting[0] is not run or len(self._training) >= self.places:
                    if not go_on():
                        return False
                    self._changed.wait(0.1)
                self._training.add(run)
                return True
            finally:
                self._waiting.remove(run)
                self._changed.notify_all()

    def leave(self, run: object) -> None:
        """Gives the place to the next."""
        with self._changed:
            self._training.discard(run)
            self._changed.notify_all()

    def ahead(self, run: object) -> int:
        """Count those who stand in line before a run that waits."""
        with self._changed:
            return self._waiting.index(run) if run in self._waiting else 0
