"""A trace as a file: one safetensors file with a JSON header, checked in every part when it is opened. See docs/file-format.md.

This stands right above the values: it reads and makes traces, and knows nothing of models, figures or pages.
"""

import io
import os
from pathlib import Path
from typing import Any

from attnviz.core import journal
from attnviz.core.errors import ArgumentError, EditError, TraceError, described
from attnviz.core.trace import AttentionTrace, check_trace
from attnviz.files.trace_file import LEAST, describe, is_beginning, rebuild, seal, unseal

# What reading a header that was made by hand, or with bad intent, may run into.
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def save(trace: AttentionTrace, path: str | os.PathLike[str], *, exact: bool = False) -> Path:
    """Write a trace to a file, by custom named `.attn`, and return its path.

    Queries and keys take 16 bits a number where every weight then stays within 0.001 of the model's own, else 32; with
    `exact` always 32, so that the opened trace has the very same bits. Weights that a trace holds themselves are kept as
    they are.

    Raises:
        ArgumentError: this is no trace, or no path.
        TraceError: the file cannot be written.
    """
    check_trace(trace)
    if not isinstance(path, str | os.PathLike):
        raise ArgumentError(f"save takes the path of the file to write, not {described(path)}.")
    path = Path(path)
    try:
        journal.write(path, to_bytes(trace, exact=exact))
    except OSError as error:
        raise TraceError(f"{path} cannot be written ({error.strerror}): choose another place.") from error
    return path


def open_trace(source: str | os.PathLike[str] | io.BufferedIOBase) -> AttentionTrace:
    """Read the trace in a file, given by its path or opened for reading bytes.

    Raises:
        ArgumentError: this is neither a path nor a file that is open for reading bytes.
        TraceError: there is no such file; it is no trace; it is cut short, damaged or edited; or a newer attnviz made it.
    """
    if not isinstance(source, str | os.PathLike):
        data = _content(source) if callable(getattr(source, "read", None)) else source
        if data is source or not isinstance(data, bytes):
            raise ArgumentError(f"open takes the path of a trace file, or one opened in mode 'rb', not {described(source)}.")
        return from_bytes(data, name=str(getattr(source, "name", "The file")))
    try:
        with open(source, "rb") as file:
            data = _content(file)
    except FileNotFoundError:
        raise TraceError(f"There is no file {source}: check its path.") from None
    except OSError as error:
        raise TraceError(f"{source} cannot be read ({error.strerror}).") from error
    except ValueError as error:  # a NUL byte, or half of a character
        raise TraceError(f"{str(source)!r} cannot be the path of a file: check it.") from error
    return from_bytes(data, name=Path(source).name)


def _content(file: Any) -> Any:
    """Read a file; of what does not begin as a trace file no more than its beginning, for a device may have no end."""
    beginning = file.peek(LEAST) if isinstance(file, io.BufferedReader) else b""
    return file.read() if len(beginning) < LEAST or is_beginning(beginning) else beginning


def to_bytes(trace: AttentionTrace, *, exact: bool = False) -> bytes:
    """Write a trace as the bytes of a file. The same trace gives the same bytes."""
    return seal(*describe(trace, exact=exact))


def from_bytes(data: bytes, *, name: str = "The file") -> AttentionTrace:
    """Read the trace in the bytes of a file; `name` is what messages call it.

    Raises:
        TraceError: as of `open_trace`.
    """
    header, tensors = unseal(data, name)
    try:
        return rebuild(header, tensors)
    except (TraceError, EditError) as error:
        raise TraceError(f"{name} holds no trace that could be true: {error}") from error
    except _MALFORMED as error:
        raise TraceError(f"{name} is not written as the format says ({type(error).__name__}: {error}).") from error
