"""Who is at work, so that what can wait gives way."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

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
