"""Files that are written whole or not at all, by one process at a time, and the digest of one."""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from attnviz.core.errors import AttnvizError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None


@contextmanager
def failing_at(path: str | os.PathLike[str]) -> Iterator[None]:
    """Have an OSError inside name this file or folder: a full disk says no name, a file that replaces another its own."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that replaces the one at `path` once all of it is on the disk.

    Where anything fails, what stood there before stays. A pipe or a device is written to directly.

    Raises:
        OSError: it cannot be written.
    """
    with failing_at(path):
        yield from _replacing(Path(path))


def _replacing(path: Path) -> Iterator[BinaryIO]:
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            yield file
        return
    path = path.resolve()  # a symbolic link stays, and what it points to is replaced
    part = path.with_name(f".attnviz-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file, a text in UTF-8, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


def sha256(path: str | os.PathLike[str]) -> str:
    """Compute the SHA-256 of a file, in hexadecimal.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Keep a file or a folder to this process.

    Raises:
        AttnvizError: another process has it.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AttnvizError(f"Another run is writing {path}: wait for it, or name another place.") from error
        yield
    finally:
        os.close(handle)
