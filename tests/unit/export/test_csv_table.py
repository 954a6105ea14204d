"""A table is read back as it was written, and no cell of it is a formula."""

import csv
import io

import numpy as np
import pytest

from attnviz.export.csv_table import NumberCell, csv_table

FORMULA = '=HYPERLINK("http://x.example","click")'
TEXTS = ["plain", "", "a,b", 'say "no"', "two\nlines", "a\tb", "１", "ü;é", "it's", "\r", "a=b", "ends;", "it-self"]


def cells(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline="")))


def test_a_table_is_read_back_as_it_was_written():
    rows = [[text, number, NumberCell(number / 7)] for number, text in enumerate(TEXTS)]
    (columns, *actual) = cells(csv_table(("text", "number", "share"), rows))
    assert columns == ["text", "number", "share"]
    assert [(row[0].removeprefix("'"), row[1:]) for row in actual] == [(row[0], [str(row[1]), row[2]]) for row in rows]


@pytest.mark.parametrize("before", ["", " ", "\t", "\n", "\r\n", "\u00a0"])
@pytest.mark.parametrize("sign", list("=+-@＝＋－＠"))
@pytest.mark.parametrize("kind", [str, np.str_])
def test_no_cell_is_a_formula(before, sign, kind):
    text = before + sign + FORMULA[1:]
    _, (_, cell) = cells(csv_table(("first", "second"), [("x", kind(text))]))
    assert cell == f"'{text}"


def test_numbers_stay_numbers():
    assert cells(csv_table(("a", "b"), [(-3, NumberCell(-0.5))])) == [["a", "b"], ["-3", "-0.5"]]
