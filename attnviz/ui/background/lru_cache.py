"""Where results are kept for whoever asks next: those that were asked for last, within a number and a weight."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

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
        """The value that is kept, else a new one. Everybody waits for `make`: it may begin what takes long, and no more."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            self._make_room()
            return self._values[key]

    def peek(self, key: Hashable) -> Value | None:
        """The value that is kept, as if nobody had asked; None: there is none."""
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
