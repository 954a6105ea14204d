"""A table is read back as it was written, and no cell of it is a formula."""

import csv
import io
import re

import numpy as np
import pytest

from attnviz.export.csv_table import NumberCell, csv_table

FORMULA = '=HYPERLINK("http://x.example","click")'
TEXTS = ["plain", "", "a,b", 'say "no"', "two\nlines", "a\tb", "１", "ü;é", "it's", "\r", "a=b", "ends;", "it-self"]


def cells(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


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
    assert cell[0] == "'"
    assert cell.replace("'", "") == text
    assert not fields_that_compute(csv_table((kind(text), "second"), [("x", kind(text))]))


def fields_that_compute(data: bytes) -> list[str]:
    """Part a table as spreadsheets of every country may, with and without regard to quotes: what begins like a formula?"""
    text = data.decode("utf-8-sig")
    ways = [csv.reader(io.StringIO(text, newline=""), delimiter=each) for each in ",;\t"]
    fields = [field for way in ways for row in way for field in row] + re.split(r"[;\t\r\n]", text)
    return [field for field in fields if field.strip(' "\u00a0')[:1] in tuple("=+-@＝＋－＠")]


@pytest.mark.parametrize("between", [";", "; ", ";\u00a0", "\t", "\n", "\r\n", ";;", ';"', ';""', "a;b;", '";'])
@pytest.mark.parametrize("sign", list("=+-@＝＋－＠"))
def test_no_part_of_a_cell_is_a_formula_in_germany_or_france(between, sign):
    text = f"Ada{between}{sign}cmd|' /C calc'!A0"
    assert fields_that_compute(f"a,b\n{text}".encode("utf-8-sig"))
    for table in (csv_table(("a", "b"), [(1, text), (text, 2)]), csv_table((text, "b"), [])):
        assert not fields_that_compute(table)
    # What was written is there but for the apostrophes.
    _, (_, cell), _ = cells(csv_table(("a", "b"), [(1, text), (text, 2)]))
    assert cell.replace("'", "") == text.replace("'", "")


def test_a_double_click_on_windows_shows_accents():
    assert csv_table(("mangé",), []) == b"\xef\xbb\xbfmang\xc3\xa9\n"


def test_numbers_stay_numbers():
    assert cells(csv_table(("a", "b"), [(-3, NumberCell(-0.5))])) == [["a", "b"], ["-3", "-0.5"]]
