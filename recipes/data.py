"""The data that recipes read: files of lines, packed by gzip, in the folder that --data names."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from attnviz.core.errors import AttnvizError

Record = TypeVar("Record")


class DataError(AttnvizError):
    """The data that a recipe needs is not there, or is not what it should be."""


def read_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Read the lines of a file, each with where it stands, such as "line 3 of qa.train.jsonl.gz".

    Raises:
        DataError: there is no such file, or it is damaged.
    """
    if not path.is_file():
        raise DataError(f"there is no {path.name} in {path.parent}; name the folder that holds it with --data")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                yield line.rstrip("\n"), f"line {number} of {path.name}"
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise DataError(f"{path} is no whole file of text that gzip packed ({error}): get it again") from error


def read_records(folder: Path, name: str, made: Callable[[dict[str, Any]], Record], what: str) -> list[Record]:
    """Read `name`.jsonl.gz of a folder: JSON objects, each `made` into a record; `what` says what a line should be.

    Raises:
        DataError: there is no such file, or a line is something else.
    """
    records = []
    for line, where in read_lines(folder / f"{name}.jsonl.gz"):
        try:
            records.append(made(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{where} is no {what}") from None
    return records
