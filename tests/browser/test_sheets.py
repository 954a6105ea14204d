"""Drawings for papers, opened in a browser: every label is text, and none lies over another."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from attnviz import AttentionTrace, Prompt
from attnviz.export import paper, svg_png_pdf
from attnviz.export.grids_and_matrices import draw_arcs, draw_grid, draw_matrix
from attnviz.export.paper import FONT, Sheet, side_by_side, titled
from attnviz.export.picture import Picture, part_of, parts, picture
from tests.factories import make_map, typed

WORDS = ("WWWWWWWW", "a", "unbelievably", "it", "مرحبا", "中文中文", "MMM", "didn't", ".", "<b>the")
TEXTS = """() => [...document.querySelectorAll("text")].map((text) => {
  const { left, top, right, bottom } = text.getBoundingClientRect();
  return [text.textContent, left, top, right, bottom];
})"""
# Boxes of letters are higher than what is drawn in them; half a pixel is between two that stand side by side.
SLACK = 0.5
DRAWINGS: dict[str, Callable[[Picture], Sheet]] = {
    "matrix": draw_matrix,
    "part": lambda shown: draw_matrix(part_of(shown, parts(shown)[-1])),
    "arcs": lambda shown: draw_arcs(part_of(shown, parts(shown)[0])),
    "text": lambda shown: paper.draw_shaded_text(shown, 1),
    "grid": draw_grid,
    "several": lambda shown: side_by_side([titled(draw_matrix(shown), f"L0·H{head}") for head in range(3)], "three"),
}


def traced(count: int) -> Picture:
    tokens = typed(" ".join(WORDS[index % len(WORDS)] for index in range(count)))
    return picture(AttentionTrace("a-model", Prompt("a text"), (make_map(tokens, layers=3, heads=13),)), layer=1, head=2)


def overlapping(page: Page, path: Path, sheet: Sheet) -> list[tuple[str, str]]:
    """The pairs of texts whose boxes meet; first makes sure that every label is a text, inside of the sheet."""
    path.write_bytes(svg_png_pdf.sheet_svg(sheet))
    page.goto(path.as_uri())
    boxes = page.evaluate(TEXTS)
    assert sorted(text for text, *_ in boxes) == sorted(label.text for label in sheet.labels)
    assert boxes
    size = page.evaluate(
        "(() => { const { right, bottom } = document.documentElement.getBoundingClientRect(); return [right, bottom]; })()"
    )
    assert all(left >= -SLACK and top >= -SLACK for _, left, top, _, _ in boxes)
    assert all(right <= size[0] + SLACK and bottom <= size[1] + SLACK for _, _, _, right, bottom in boxes)
    return [
        (one[0], other[0])
        for at, one in enumerate(boxes)
        for other in boxes[at + 1 :]
        if min(one[3], other[3]) - max(one[1], other[1]) > SLACK and min(one[4], other[4]) - max(one[2], other[2]) > SLACK
    ]


@pytest.mark.parametrize("count", [10, 150])
@pytest.mark.parametrize("name", DRAWINGS)
def test_no_two_labels_overlap(page: Page, tmp_path: Path, name: str, count: int) -> None:
    sheet = DRAWINGS[name](traced(count))
    assert all(label.size >= FONT for label in sheet.labels)
    assert overlapping(page, tmp_path / "drawing.svg", sheet) == []
