"""The matrix as HTML: its numbers are the map's, its words as typed, its marks where they should stand."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from attnviz.analysis.head_view import HeadMatrix, head_matrix
from attnviz.core.trace import Token
from attnviz.figures.explorer.overview import HeadMarks
from attnviz.figures.matrix import DrawnMatrix, Marks, matrix_svg, one_matrix
from attnviz.figures.theme import DARK, LIGHT
from tests.factories import HOSTILE, make_map, numbered


def matrix(n_queries: int = 5, n_keys: int = 7, *, causal: bool = False) -> HeadMatrix:
    attention = make_map(numbered(n_queries), causal=True) if causal else make_map(numbered(n_queries), numbered(n_keys))
    return head_matrix(attention, layer=0, head=1)


def svg_of(drawn: str) -> ElementTree.Element:
    found = re.search(r"<svg.*?</svg>", drawn, re.S)
    assert found
    return ElementTree.fromstring(found[0].replace(" class=chosen", ' class="chosen"'))


def cells(drawn: str) -> dict[str, ElementTree.Element]:
    """The cells, by what a click picks."""
    return {cell.attrib["data-pick"]: cell for cell in svg_of(drawn).iter("rect")}


def box(path: ElementTree.Element) -> list[float]:
    """Left, top, right and bottom."""
    return [float(number) for number in re.findall(r"[\d.]+", path.attrib["d"])[:4]]


def test_every_cell_has_its_weight_its_colour_and_its_place():
    given = matrix()
    drawn = one_matrix(given, Marks((3, 6)))
    assert list(cells(drawn)) == [f"{row}.{column}" for row in range(5) for column in range(7)]
    for pick, cell in cells(drawn).items():
        row, column = map(int, pick.split("."))
        weight = given.weights[row, column]
        assert "".join(cell.itertext()) == f"t{row} → t{column}: {weight:.4f}"
        assert cell.attrib["fill"] == LIGHT.colour(float(weight))
    places = {pick: (float(cell.attrib["x"]), float(cell.attrib["y"])) for pick, cell in cells(drawn).items()}
    assert places["0.0"][0] < places["0.6"][0]
    assert places["0.0"][1] < places["4.0"][1]
    # From 0 to the largest where the scale is fitted, and in the dark.
    fitted = cells(one_matrix(given, full_scale=False, theme=DARK))
    assert DARK.colour(1.0) in {cell.attrib["fill"] for cell in fitted.values()}


def test_a_masked_cell_is_no_zero():
    drawn = one_matrix(matrix(causal=True))
    masked = {pick for pick, cell in cells(drawn).items() if "".join(cell.itertext()).endswith(": masked")}
    assert masked == {f"{row}.{column}" for row in range(5) for column in range(row + 1, 5)}
    assert {cells(drawn)[pick].attrib["fill"] for pick in masked} == {"var(--masked)"}
    assert f"--masked:{LIGHT.masked}" in drawn


def test_the_selected_cell_is_outlined_named_and_read():
    given = matrix()
    drawn = one_matrix(given, Marks((3, 6)), number="norm share")
    root = svg_of(drawn)
    row, column = [box(path) for path in root.iter("path") if path.attrib["class"] == "outline"]
    cell = cells(drawn)["3.6"]
    assert float(cell.attrib["y"]) == pytest.approx(row[1], abs=0.1)
    assert float(cell.attrib["x"]) == pytest.approx(column[0], abs=0.1)
    assert [text.text for text in root.iter("text") if "chosen" in text.attrib.get("class", "")] == ["t3", "t6"]
    assert f"t3 → t6 · norm share {given.weights[3, 6]:.4f}</p>" in drawn
    assert [pick for pick, each in cells(drawn).items() if "class" in each.attrib] == ["3.6"]


def test_nothing_typed_is_an_element():
    tokens = tuple(Token(text, 0, len(text)) for text in HOSTILE)
    drawn = one_matrix(head_matrix(make_map(tokens), layer=0, head=0), Marks((1, 1)))
    assert "<script" not in drawn
    assert "<s>" not in drawn
    texts = {text.text for text in svg_of(drawn).iter("text")}
    named = {"".join(cell.itertext()).split(" → ")[0] for cell in cells(drawn).values()}
    assert {"a&b", "&lt;", "<s>", "</script>", "مرحبا"} <= named
    assert texts <= named


def test_what_is_edited_looks_switched_off():
    edited = HeadMarks(cells=((2, 1, "cut"), (0, 2, "set")), columns=(0,))
    root = svg_of(one_matrix(matrix(), Marks(edited=edited)))
    paths = [(path.attrib["class"], box(path)) for path in root.iter("path")]
    assert [kind for kind, _ in paths] == ["faded", "faded", "cut", "typed"]
    (left, top, right, bottom), cut = paths[0][1], paths[1][1]
    side = right - left
    assert bottom - top == pytest.approx(5 * side, abs=0.5)
    assert (cut[0] - left, cut[1] - top) == pytest.approx((side, 2 * side), abs=0.5)
    assert len(list(svg_of(one_matrix(matrix(), Marks(edited=HeadMarks(off=True)))).iter("path"))) == 7


@pytest.mark.parametrize("selected", [None, (101, 57)])
def test_many_labels_are_thinned_and_the_selected_ones_stay(selected: tuple[int, int] | None):
    weights = np.random.default_rng(3).random((211, 211)).astype(np.float32)
    names = [token.text for token in numbered(211)]
    visible = np.tri(211, dtype=bool)
    drawn = matrix_svg(DrawnMatrix("many", weights, names, names, LIGHT.colour, visible=visible, marks=Marks(selected)))
    root = svg_of(drawn)
    # One image, behind which what is masked has its own colour.
    assert (len(list(root.iter("rect"))), len(list(root.iter("image")))) == (0, 1)
    assert next(root.iter("path")).attrib["class"] == "masked"
    rows = [text for text in root.iter("text") if "row" in text.attrib.get("class", "")]
    gaps = np.diff(sorted(float(text.attrib["y"]) for text in rows))
    assert gaps.min() >= 14
    assert gaps.max() <= 48
    assert selected is None or "t101" in {text.text for text in rows}
