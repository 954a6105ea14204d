"""A matrix drawn as SVG in HTML: its tokens beside it, a title for every cell, and what is chosen or edited in it marked."""

import base64
import html
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image

from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.wording import cut, signed, two_digits
from attnviz.core.trace import Token
from attnviz.figures.explorer.overview import NO_MARKS, HeadMarks
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on, rgb
from attnviz.text.words import visible_text

STYLE = Path(__file__).with_name("matrix.css").read_text(encoding="utf-8")
# How large a matrix is, and how high with the labels above it, in units of its own drawing, in which its labels have 14.
PIXELS, HIGHEST, FONT = 330, 400, 14
MOST_LABEL = 14
# Of more cells, which nobody could point at, the matrix is one image.
MOST_CELLS = 2_500


@dataclass(frozen=True)
class Marks:
    """What is marked in a matrix, by (row, column).

    selected  the cell whose row and column are outlined
    edited    what of the head is edited: it looks switched off
    ranks     the best cells, numbered from 1
    """

    selected: tuple[int, int] | None = None
    edited: HeadMarks = NO_MARKS
    ranks: tuple[tuple[int, int], ...] = ()


NOT_MARKED = Marks()


@dataclass(frozen=True, eq=False)
class DrawnMatrix:
    """A matrix with what its rows and columns are called.

    shared   for rows and columns, their numbers among the aligned tokens, which all matrices of a picture have
    written  how a weight is
    visible  False where attention was masked; None: it was nowhere
    picks    whether a click on a cell picks it
    longest  so many characters have the longest names of rows and of columns in the same picture, so that all are as large
    """

    name: str
    weights: Float[np.ndarray, "query key"]
    rows: Sequence[str]
    columns: Sequence[str]
    colour: Callable[[float], str]
    shared: tuple[Mapping[int, int], Mapping[int, int]] = ({}, {})
    written: str = ".3f"
    visible: Bool[np.ndarray, "query key"] | None = None
    marks: Marks = NOT_MARKED
    picks: bool = False
    longest: tuple[int, int] = (0, 0)

    def title(self, row: int, column: int) -> str:
        """Name both tokens of a cell, and its weight."""
        is_masked = self.visible is not None and not self.visible[row, column]
        weight = "masked" if is_masked else signed(float(self.weights[row, column]), self.written)
        return html.escape(f"{self.rows[row]} → {self.columns[column]}: {weight}")


@dataclass(frozen=True)
class _Room:
    """Where the cells stand, squares of side `cell`."""

    left: float
    top: float
    cell: float

    def box(self, row: int, column: int, rows: int = 1, columns: int = 1) -> tuple[float, float, float, float]:
        """Return the left, top, right and bottom of some cells."""
        left, top = self.left + column * self.cell, self.top + row * self.cell
        return left, top, left + columns * self.cell, top + rows * self.cell


def labels(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Name tokens, long ones cut."""
    return tuple(cut(visible_text(token.text), MOST_LABEL) for token in tokens)


def one_matrix(
    matrix: HeadMatrix, marks: Marks = NOT_MARKED, *, number: str = "weight", full_scale: bool = True, theme: Theme = LIGHT
) -> str:
    """Draw one matrix as HTML, with a bar for its colours and a line that reads a cell. A click picks "row.column".

    `number` says what its numbers are; `full_scale`: colours run from 0 to 1, else to the largest number.

    >>> tokens = (Token("<s>", 0, 0, special=True), Token("a", 0, 1))
    >>> weights, own = np.array([[1, 0], [0.5, 0.5]], dtype=np.float32), (0, 1)
    >>> drawn = one_matrix(HeadMatrix(weights, np.tri(2, dtype=bool), tokens, tokens, own, own, own), Marks((1, 0)))
    >>> "a → &lt;s&gt;: 0.5000" in drawn, "&lt;s&gt; → a: masked" in drawn, 'class="read selected" data-pick="1.0"' in drawn
    (True, True, True)
    """
    highest = 1.0 if full_scale else float(max(matrix.weights.max(initial=0.0), 1e-9))
    drawn = DrawnMatrix(
        number, matrix.weights, labels(matrix.queries), labels(matrix.keys), lambda weight: theme.colour(weight / highest),
        written=".4f", visible=matrix.visible, marks=marks, picks=not marks.ranks,
    )  # fmt: skip
    stops = ",".join(theme.colour(step / 8) for step in range(9))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    caption = f"<figcaption>{html.escape(number)} 0 {bar} {two_digits(highest)}</figcaption>"
    told = drawn.title(*marks.selected).rpartition(": ") if marks.selected else ("", "", "")
    reading = f'<p class="reading" aria-live="polite">{told[0]} · {html.escape(number)} {told[2]}</p>' if marks.selected else ""
    figure = f'<figure data-name="{html.escape(number)}">{caption}{matrix_svg(drawn)}</figure>'
    style = f"{css_variables(theme)};--masked:{theme.masked}"
    return f'<div style="{style}"><div class="compared one">{figure}</div>{reading}</div>'


def matrix_svg(matrix: DrawnMatrix) -> str:
    """Draw a matrix as SVG with its labels; of many tokens some labels are left out, but not those of the selected cell.

    >>> drawn = matrix_svg(DrawnMatrix("x", np.array([[0.5]]), ("<s>",), ("a",), LIGHT.colour))
    >>> "&lt;s&gt;" in drawn, "&lt;s&gt; → a: 0.500" in drawn
    (True, True)
    """
    rows, columns = matrix.rows, matrix.columns
    left, top = (12 + 7.5 * max(least, *map(len, names)) for names, least in zip((rows, columns), matrix.longest, strict=True))
    room = _Room(left, top, min(PIXELS / max(len(rows), len(columns)), (HIGHEST - top) / len(rows)))
    reached = matrix.weights.size <= MOST_CELLS
    parts = [*(_cells(matrix, room) if reached else [_image(matrix, room)]), *_marks(matrix, room), *_labels(matrix, room)]
    _, _, wide, high = room.box(0, 0, len(rows), len(columns))
    kind = f'class="cells" data-columns="{len(columns)}" tabindex="0" role="application"' if reached else 'role="img"'
    size = f'style="--natural:{wide + 2:.0f}px" preserveAspectRatio="xMinYMin" viewBox="0 0 {wide + 2:.1f} {high + 2:.1f}"'
    return f'<svg {size} {kind} aria-label="{html.escape(f"{matrix.name}: weights")}">{"".join(parts)}</svg>'


def _labels(matrix: DrawnMatrix, room: _Room) -> Iterator[str]:
    row, column = matrix.marks.selected or (None, None)
    for at in _labelled(len(matrix.rows), row, room.cell):
        kind = "row chosen" if at == row else "row"
        y = room.top + (at + 0.5) * room.cell + 5
        yield f'<text x="{room.left - 5:.1f}" y="{y:.1f}" class="{kind}">{html.escape(matrix.rows[at])}</text>'
    for at in _labelled(len(matrix.columns), column, room.cell):
        x, y = room.left + (at + 0.5) * room.cell + 5, room.top - 5
        turned = f'transform="rotate(-90 {x:.1f} {y:.1f})"{" class=chosen" if at == column else ""}'
        yield f'<text x="{x:.1f}" y="{y:.1f}" {turned}>{html.escape(matrix.columns[at])}</text>'


def _labelled(count: int, selected: int | None, cell: float) -> list[int]:
    """List the places whose labels are written: so far apart that none touches another."""
    step = max(1, math.ceil(1.15 * FONT / cell))
    places = [at for at in range(0, count, step) if selected is None or abs(at - selected) >= step]
    return places if selected is None else [*places, selected]


def _cells(matrix: DrawnMatrix, room: _Room) -> Iterator[str]:
    """Draw each cell with its title; one that all matrices share says which it is there (`data-at`)."""
    (queries, keys), selected = matrix.shared, matrix.marks.selected
    for row, column in np.ndindex(*matrix.weights.shape):
        x, y, _, _ = room.box(row, column)
        place = f'x="{x:.1f}" y="{y:.1f}" width="{room.cell - 0.6:.1f}" height="{room.cell - 0.6:.1f}"'
        at = f' data-at="{queries[row]}.{keys[column]}"' if row in queries and column in keys else ""
        picked = f' data-pick="{row}.{column}"' if matrix.picks else ""
        is_masked = matrix.visible is not None and not matrix.visible[row, column]
        fill = "var(--masked)" if is_masked else matrix.colour(float(matrix.weights[row, column]))
        read = ' class="read selected"' if (row, column) == selected else ""
        yield f'<rect {place}{at}{read}{picked} fill="{fill}"><title>{matrix.title(row, column)}</title></rect>'


def _image(matrix: DrawnMatrix, room: _Room) -> str:
    # A look-up for each shade there is, not for each cell.
    shades, which = np.unique(np.round(matrix.weights, 3), return_inverse=True)
    table = np.array([rgb(matrix.colour(float(shade))) for shade in shades], dtype=np.uint8)
    pixels = table[which.reshape(matrix.weights.shape)]
    if matrix.visible is not None:
        # What is masked is the colour behind the image.
        pixels = np.dstack([pixels, np.where(matrix.visible, 255, 0).astype(np.uint8)])
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    n_rows, n_columns = matrix.weights.shape
    size = f'x="{room.left:.1f}" y="{room.top:.1f}" width="{n_columns * room.cell:.1f}" height="{n_rows * room.cell:.1f}"'
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    behind = "" if matrix.visible is None else _path("masked", room.box(0, 0, n_rows, n_columns))
    look = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
    return f'{behind}<image {size} {look} href="data:image/png;base64,{data}"/>'


def _marks(matrix: DrawnMatrix, room: _Room) -> Iterator[str]:
    """Fade what is switched off, strike out links that are cut, ring weights that were typed; outline, number."""
    marks, edited, (n_rows, n_columns) = matrix.marks, matrix.marks.edited, matrix.weights.shape
    for column in [*edited.columns, *(range(n_columns) if edited.off else ())]:
        yield _path("faded", room.box(0, column, n_rows))
    for row, column, what in edited.cells:
        left, top, right, bottom = box = room.box(row, column)
        if what == "cut":
            yield _path("faded", box) + f'<path class="cut" d="M{left:.1f} {bottom:.1f}L{right:.1f} {top:.1f}"/>'
        else:
            yield _path("typed", box)
    if marks.selected is not None:
        row, column = marks.selected
        yield _path("outline", room.box(row, 0, 1, n_columns)) + _path("outline", room.box(0, column, n_rows))
    for rank, (row, column) in enumerate(marks.ranks, 1):
        x, y = room.left + (column + 0.5) * room.cell, room.top + (row + 0.5) * room.cell + 5
        ink = ink_on(matrix.colour(float(matrix.weights[row, column])))
        yield f'<text class="rank" x="{x:.1f}" y="{y:.1f}" style="fill:{ink}">{rank}</text>'


def _path(kind: str, box: tuple[float, float, float, float]) -> str:
    left, top, right, bottom = box
    return f'<path class="{kind}" d="M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"/>'
