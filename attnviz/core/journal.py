"""A journal: what a long run has measured already, a line each, so that a run that was killed goes on where it stopped.

The first line is the header: all that the numbers depend on, such as the model's revision and a digest of the data. A journal
with another header is begun anew. While it is open no other process may write it.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attnviz.core.errors import AttnvizError
from attnviz.core.whole_files import exclusive, failing_at


class Journal:
    """The records of a run, by key: `done` has those of a run before and of this one.

    >>> with Journal(None, {"model": "mine"}, print) as journal:
    ...     journal.note("a text", 3, 0.5), journal.note("another", float("nan"))
    (True, False)
    >>> journal.done
    {'a text': [3, 0.5]}
    """

    def __init__(
        self,
        path: Path | None,
        header: Mapping[str, Any],
        report: Callable[[str], None],
        fits: Callable[..., bool] = lambda *values: True,
    ) -> None:
        """Prepare a journal in a file, or in memory alone where there is no path.

        report  hears that a journal is begun anew
        fits    whether the values of a record that is read can be of this run: all others are measured again
        """
        self.path, self.header, self._report, self._fits = path, json.loads(json.dumps(header)), report, fits
        self.done: dict[Any, list[Any]] = {}
        self._open = ExitStack()

    def __enter__(self) -> "Journal":
        if self.path is not None:
            if self.path.exists() and not self.path.is_file():
                raise self._no_journal(self.path)
            with ExitStack() as stack:
                self._file = stack.enter_context(self.path.open("a+b", buffering=0))
                stack.enter_context(exclusive(self.path))
                with failing_at(self.path):
                    self._read(self.path)
                self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def note(self, key: object, *values: object) -> bool:
        """Write a record, whole and at once; where one of its numbers is not finite nothing is written, and False returned."""
        try:
            line = json.dumps([key, *values], allow_nan=False)
        except ValueError:
            return False
        if self.path is not None:
            with failing_at(self.path):
                self._file.write(line.encode() + b"\n")
        self.done[key] = list(values)
        return True

    def _read(self, path: Path) -> None:
        self._file.seek(0)
        # The last line of a run that was killed may be half of one.
        whole, end, torn = self._file.read().rpartition(b"\n")
        first, *lines = whole.split(b"\n")
        header, written = _parsed(first), json.dumps(self.header).encode()
        if (whole and not isinstance(header, dict)) or (torn and not whole and not written.startswith(torn)):
            raise self._no_journal(path)
        if header == self.header:
            self._file.truncate(len(whole) + len(end))
            records = [record for line in lines if isinstance(record := _parsed(line), list) and record]
            self.done = {key: values for key, *values in records if isinstance(key, str | int) and self._is_fitting(values)}
            return
        if header:
            other = ", ".join(name for name, value in self.header.items() if header.get(name) != value)
            self._report(f"{path.name} is of a run with other settings ({other}): everything is measured anew.")
        self._file.truncate(0)
        self._file.write(written + b"\n")

    def _is_fitting(self, values: list[Any]) -> bool:
        try:
            return self._fits(*values)
        except (AttributeError, TypeError, ValueError):  # too few values, or of other types
            return False

    @staticmethod
    def _no_journal(path: Path) -> AttnvizError:
        return AttnvizError(f"{path} is no journal of attnviz: move it away, or name another file with --out.")


def _parsed(line: bytes) -> Any:
    """Read a line of JSON; None where it is none, or holds a number that is not finite."""
    try:
        return json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(text: str) -> float:
    """Read a number; 1e999 is none that is finite either."""
    if not math.isfinite(number := float(text)):
        raise ValueError(text)
    return number


def digest(values: Iterable[object]) -> str:
    """Tell some values from others, by what they are written as, in 16 hexadecimal digits.

    >>> digest(["a", "b"]) == digest(["ab"])
    False
    """
    return hashlib.sha256("\n".join(map(repr, values)).encode()).hexdigest()[:16]


def model_facts(name: str, revision: str) -> dict[str, str]:
    """Tell for a header which model it is; of a folder without a revision, its files' names, sizes and times stand for one.

    >>> model_facts("minilm", "1a2b")
    {'model': 'minilm', 'revision': '1a2b'}
    """
    folder = Path(name).expanduser()
    if not revision and folder.is_dir():
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        revision = digest((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    return {"model": name, "revision": revision}
