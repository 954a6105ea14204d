"""The one writer of CSV: every table that attnviz writes is harmless in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence

# How a cell begins that a spreadsheet runs as a formula, tabs and line breaks before it left out.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class NumberCell(str):
    """A number as a cell has it; any other text may be a formula.

    >>> NumberCell(-0.25), NumberCell(1 / 3, ".3g")
    ('-0.25', '0.333')
    """

    __slots__ = ()

    def __new__(cls, value: float, form: str = ".9g") -> "NumberCell":
        # float32 is told in full by nine digits.
        return super().__new__(cls, format(value, form))


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write a table in UTF-8; a text that a spreadsheet would compute has an apostrophe before it.

    >>> csv_table(("word", "share"), [("=1+1", NumberCell(-0.5)), ("a,b", None)]).decode().splitlines()
    ['word,share', "'=1+1,-0.5", '"a,b",']
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([harmless(cell) if type(cell) is str else cell for cell in row] for row in rows)
    return buffer.getvalue().encode("utf-8")


def harmless(cell: str) -> str:
    """Write a text as one that no spreadsheet computes.

    >>> harmless("=1+1"), harmless("-"), harmless("a=b")
    ("'=1+1", "'-", 'a=b')
    """
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
