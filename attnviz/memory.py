"""How much memory this process takes, and how much it may take: what its container allows, else what the machine has."""

import ctypes
import gc
import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attnviz import settings

_USED, _MACHINE = "proc/self/status", "proc/meminfo"
# Of control groups, version 2 and version 1.
_CONTAINER = ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes")
TIGHT = 0.85
# M_ARENA_MAX and M_MMAP_THRESHOLD of glibc's malloc.h.
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
_LARGE = 2 * 2**20


class Memory(NamedTuple):
    """Bytes that are used, and bytes that may be."""

    used: int
    limit: int

    @property
    def free(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def is_tight(self) -> bool:
        """Whether so little is left that nothing large may come to it.

        >>> Memory(900, 1000).is_tight, Memory(800, 1000).is_tight
        (True, False)
        """
        return self.used > TIGHT * self.limit


def read(root: Path = Path("/")) -> Memory | None:
    """Read what this process takes and may take; None where the system does not tell, as on macOS and Windows.

    Raises:
        SettingError: ATTNVIZ_MEMORY_MB is no positive number.
    """
    used = _kilobytes(root / _USED, "VmRSS")
    megabytes = settings.number("ATTNVIZ_MEMORY_MB")
    limits = [megabytes * 2**20] if megabytes else [*_container(root), *_kilobytes(root / _MACHINE, "MemTotal")]
    return Memory(used[0], min(limits)) if used and limits else None


@cache
def bound_heaps() -> None:
    """Lets the threads of this process share two heaps, and gives what is large back to the system once it is freed.

    On Linux every thread would get a heap, up to eight a core, and each would stay as large as it ever was; and the size from
    which memory is given back would grow with the largest tensor that was ever freed.
    """
    if sys.platform == "linux":
        # Not every C library has heaps to be told of.
        option = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
        option(_ARENA_MAX, 2)
        option(_MMAP_THRESHOLD, _LARGE)


@cache
def settle() -> None:
    """Takes what is there, nearly all of it libraries, out of Python's search for garbage: once, when they were imported.

    Old objects are searched only when a quarter as many have come to them. With PyTorch there are several hundred thousand:
    what visits leave would lie about for hundreds of presses, and then everybody would wait for the search.
    """
    gc.freeze()


def give_back() -> None:
    """Searches for garbage, and gives the system what lies free between what is used.

    What failed or was left holds its tensors in a circle, of its error and the frames that it passed: 438 MB after a quarter
    of a minute of long texts on Matters, of which Python's own search found nothing as long as nobody came.
    """
    gc.collect()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", lambda _: 0)(0)


def _kilobytes(path: Path, name: str) -> list[int]:
    """Read the bytes of a line such as "VmRSS:  1234 kB"."""
    return [int(number) * 1024 for number in re.findall(rf"^{name}:\s+(\d+) kB$", _text(path), re.MULTILINE)]


def _container(root: Path) -> list[int]:
    written = (_text(root / path).strip() for path in _CONTAINER)
    return [int(text) for text in written if text.isdecimal()]  # "max": as much as there is


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
