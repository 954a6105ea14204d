"""A table as CSV, of which no cell is a formula where a spreadsheet opens it."""

import csv
import re
from collections.abc import Iterable, Sequence

# How a cell begins that a spreadsheet runs as a formula, whatever space stands before it; Japanese ones take wide signs, too.
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r\n]")
# German and French Excel part a line at semicolons, others on request at tabs, and do not see that a cell is quoted.
_INNER_FORMULA = re.compile(r"([;\t\r\n][\s\"]*)(?=[=+\-@＝＋－＠])")


class NumberCell(str):
    """A number as a cell has it; any other text may be a formula.

    >>> NumberCell(-0.25), NumberCell(1 / 3, ".3g")
    ('-0.25', '0.333')
    """

    __slots__ = ()

    def __new__(cls, value: float | int, form: str = ".9g") -> "NumberCell":
        # float32 is told in full by nine digits.
        return super().__new__(cls, format(value, form))


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write a table in UTF-8, with the mark that tells Excel so; a text that a spreadsheet would compute has an apostrophe.

    >>> csv_table(("word", "share"), [("=1+1", -0.5), ("a,b", None)]).decode("utf-8-sig").splitlines()
    ['word,share', "'=1+1,-0.5", '"a,b",']
    """
    lines = _Lines()
    # What may end a line is quoted in cells: a carriage return only where it ends lines, which are then ended anew.
    writer = csv.writer(lines, lineterminator="\r\n")
    writer.writerow([harmless(column) for column in columns])
    writer.writerows(map(_cell, row) for row in rows)
    # Half a character, as a shell may hand it over, cannot be written.
    return "\n".join([*lines, ""]).encode("utf-8-sig", "replace")


class _Lines(list[str]):
    """Lines as a file takes them, without their ends."""

    def write(self, line: str) -> None:
        self.append(line[:-2])


def _cell(cell: object) -> object:
    if isinstance(cell, float | bool):
        return NumberCell(cell)
    return harmless(cell) if isinstance(cell, str) and not isinstance(cell, NumberCell) else cell


def harmless(cell: str) -> str:
    """Write a text as one that no spreadsheet computes, wherever it parts a line.

    >>> harmless("=1+1"), harmless("-"), harmless("a=b"), harmless("Ada;=1+1")
    ("'=1+1", "'-", 'a=b', "Ada;'=1+1")
    """
    cell = _INNER_FORMULA.sub(r"\1'", cell)
    return f"'{cell}" if _FORMULA.match(cell) else cell
