"""Training in the background: begun, paused, continued and stopped by somebody who watches, and ended when nobody does.

A run has a thread only while it trains or waits for its turn. What it has learned stays in the run, and is gone with it.
"""

import threading
import time
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from attnviz.models import device
from attnviz.models.toy_config import ToyRecipe
from attnviz.training.toy_training import Frame, Training


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


# ready: not begun; left: paused because nobody watched any more
State = Literal["ready", "waiting", "training", "paused", "left", "stopped", "finished", "failed"]
# Kept frames of a run, weights and all: a quarter of a megabyte each.
KEPT = 48
LOOK_SECONDS = 0.25
# A page asks several times a second; one that has not for so long is closed, or shows something else. Where the machine is
# very busy an open page was silent for seven seconds.
PATIENCE_SECONDS = 12.0
# Work of others goes first, but not for ever: who has waited so long trains for as long.
MOST_COURTESY_SECONDS = 1.0
_TICK = 0.05
Kept = TypeVar("Kept")


class History(Generic[Kept]):
    """The frames that are kept of a run: the first, the last, and evenly many between them, a bounded number.

    >>> history = History(most=4)
    >>> for number in range(12):
    ...     history.add(number)
    >>> history.frames
    (0, 4, 8, 11)
    """

    def __init__(self, most: int = KEPT) -> None:
        self.most, self._stride, self._seen = most, 1, 0
        self._kept: tuple[Kept, ...] = ()
        self.frames: tuple[Kept, ...] = ()

    def add(self, frame: Kept) -> None:
        """Keep a frame; where they become too many, every second goes, and of those to come every second too."""
        if self._seen % self._stride == 0:
            if len(self._kept) == self.most - 1:
                self._kept, self._stride = self._kept[::2], 2 * self._stride
            if self._seen % self._stride == 0:
                self._kept = (*self._kept, frame)
        self._seen += 1
        self.frames = self._kept if self._kept[-1] is frame else (*self._kept, frame)


class LiveRun:
    """One training that somebody watches; one that has taken steps before, such as out of a file, is finished.

    `give_way` waits while others want the processor more, so many seconds at most, and says whether they are done; `slowly` is
    how many seconds a step takes at least.
    """

    def __init__(self, training: Training, line: Line, give_way: Callable[[float], bool] = lambda _: True) -> None:
        self.training, self.line, self.give_way = training, line, give_way
        self.history: History[Frame] = History()
        self.history.add(training.look())
        self.state: State = "finished" if training.taken else "ready"
        self.failure: Exception | None = None
        self.slowly = 0.0
        self.seconds = 0.0
        self._courteous_from = 0.0
        self._go = False
        self._seen = time.monotonic()
        self._thread: threading.Thread | None = None

    @property
    def recipe(self) -> ToyRecipe:
        return self.training.recipe

    @property
    def active(self) -> bool:
        """Whether it trains, or waits to."""
        return self.state in ("waiting", "training")

    @property
    def frames(self) -> tuple[Frame, ...]:
        """What is kept, the latest last."""
        return self.history.frames

    @property
    def step(self) -> int:
        return self.training.taken

    @property
    def left(self) -> float | None:
        """Seconds of training that are left at the present speed; None before the first step."""
        return self.seconds / self.step * (self.recipe.steps - self.step) if self.step else None

    def watched(self) -> None:
        """Tells the run that somebody still looks at it; without that it ends by itself."""
        self._seen = time.monotonic()

    def begin(self) -> None:
        """Train, or go on after a pause; a run that has ended stays as it is."""
        if self.active or self.training.ended or self.state == "failed":
            return
        self._join()
        self.watched()
        self._go, self.state = True, "waiting"
        self._thread = threading.Thread(target=self._run, name="attnviz-training", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Hold after the present step; the place goes to who waits."""
        self._halt("paused")

    def stop(self) -> None:
        """End here; what was learned stays."""
        self._halt("stopped")

    def _halt(self, state: State) -> None:
        if not self.active:
            return
        self._go = False
        self._join()
        if self.state == "paused":
            self.state = state

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _goes_on(self) -> bool:
        return self._go and time.monotonic() - self._seen < PATIENCE_SECONDS

    def _run(self) -> None:
        ended: State = "paused"
        try:
            if self.line.enter(self, self._goes_on):
                try:
                    self.state = "training"
                    self._train()
                finally:
                    self.line.leave(self)
            ended = "finished" if self.training.ended else "left" if self._go else "paused"
        except Exception as error:  # whatever it is, the page must say it, and the thread has nobody else to tell
            self.failure, ended = error, "failed"
        self.state = ended

    def _train(self) -> None:
        # What else runs on a small server keeps its cores.
        device.use_one_core()
        looked = 0.0
        while self._goes_on() and not self.training.ended:
            self._let_pass()
            begun = time.monotonic()
            self.training.step()
            if time.monotonic() - looked > LOOK_SECONDS or self.training.ended:
                self._let_pass()
                self.history.add(self.training.look())
                looked = time.monotonic()
            while self._go and (rest := begun + self.slowly - time.monotonic()) > 0:
                time.sleep(min(rest, _TICK))
            self.seconds += time.monotonic() - begun
        if self.history.frames[-1].step < self.step:
            self.history.add(self.training.look())

    def _let_pass(self) -> None:
        """Between two steps: others first, for half of the time at most."""
        if (begun := time.monotonic()) < self._courteous_from:
            return
        while self._go and not self.give_way(_TICK):
            if time.monotonic() - begun >= MOST_COURTESY_SECONDS:
                self._courteous_from = time.monotonic() + MOST_COURTESY_SECONDS
                return
