"""Memory of the server: what is kept for whoever asks next, what goes when it is full or idle, and what is imported ahead."""

import importlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from threading import Lock
from typing import Any, Generic, Never, TypeVar

from attnviz import memory
from attnviz.core.errors import ModelTooLargeError
from attnviz.models import catalog
from attnviz.ui.background.slots import PRIORITY, Priority

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
_MODULES = (
    "torch",
    "attnviz.models.head_inputs",
    "attnviz.models.hub.minilm",
    "transformers.models.bert.modeling_bert",
)
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
_importing = threading.Thread(target=_import_all, name="attnviz-import", daemon=True)
_starting = threading.Lock()


def begin() -> None:
    """Begins, once, without making anybody wait."""
    with _starting:
        if _importing.ident is None:
            _importing.start()


def finish() -> None:
    """Waits until it is done, and begins it if nobody has."""
    _needed.set()
    begin()
    _importing.join()
