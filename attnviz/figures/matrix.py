"""A matrix as a record that `matrix.js` draws: its tokens beside it, its numbers, and what is chosen or edited in it."""

import base64
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image

from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.wording import cut, two_digits
from attnviz.core.trace import Token
from attnviz.figures.explorer.overview import NO_MARKS, HeadMarks
from attnviz.figures.theme import Theme, diverging, rgb
from attnviz.text.words import visible_text

STYLE = Path(__file__).with_name("matrix.css").read_text(encoding="utf-8")
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

    highest  the number of the strongest colour; `signed`: numbers below 0 have the other colour
    ends     what stands before and after the bar of the colours; None: there is no bar
    visible  False where attention was masked; None: it was nowhere
    shared   the number of each row and column among the aligned tokens, which all matrices of a picture have; None: it has none
    longest  so many characters have the longest names of rows and of columns in the same picture, so that all are as large
    """

    name: str
    weights: Float[np.ndarray, "query key"]
    rows: Sequence[str]
    columns: Sequence[str]
    digits: int = 3
    highest: float = 1.0
    signed: bool = False
    ends: tuple[str, str] | None = None
    visible: Bool[np.ndarray, "query key"] | None = None
    marks: Marks = NOT_MARKED
    shared: tuple[Sequence[int | None], Sequence[int | None]] | None = None
    longest: tuple[int, int] = (0, 0)

    def record(self, theme: Theme) -> dict[str, Any]:
        """Write the matrix for the script that draws it."""
        marks, edited = self.marks, self.marks.edited
        cells: dict[str, Any] = {"weights": rounded(self.weights, self.highest, 7)}
        cells["masked"] = None if self.visible is None or self.visible.all() else (~self.visible).ravel().tolist()
        if self.weights.size > MOST_CELLS:
            cells = {"weights": [], "masked": [] if cells["masked"] else None, "image": self._image(theme)}
        names = ("name", "rows", "columns", "digits", "highest", "ends", "shared", "longest")
        marked = {"selected": marks.selected, "ranks": marks.ranks, "edited": vars(edited)}
        return {name: getattr(self, name) for name in names} | {"isSigned": self.signed} | marked | cells

    def _image(self, theme: Theme) -> str:
        """Draw the cells, a pixel each, as the address of a PNG; what is masked is transparent."""
        # A look-up for each shade there is, not for each cell.
        shades, which = np.unique(np.round(self.weights / self.highest, 3), return_inverse=True)
        colours = (diverging(float(shade), theme) if self.signed else theme.colour(float(shade)) for shade in shades)
        pixels = np.array([rgb(colour) for colour in colours], dtype=np.uint8)[which.reshape(self.weights.shape)]
        if self.visible is not None:
            pixels = np.dstack([pixels, np.where(self.visible, 255, 0).astype(np.uint8)])
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def rounded(numbers: Float[np.ndarray, "..."], highest: float, digits: int) -> list[float]:
    """Round numbers for a script: to so many digits where the largest is near 1, to more where it is small.

    >>> rounded(np.array([0.81234, 0.00001]), 0.8, 3), rounded(np.array([0.00081234, 0.00001]), 0.0008, 3)
    ([0.812, 0.0], [0.000812, 1e-05])
    """
    zeros = max(int(-math.log10(highest)), 0) if highest else 0
    return numbers.astype(float).round(digits + zeros).ravel().tolist()


def labels(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Name tokens, long ones cut."""
    return tuple(cut(visible_text(token.text), MOST_LABEL) for token in tokens)


def one_matrix(
    matrix: HeadMatrix, marks: Marks = NOT_MARKED, *, number: str = "weight", full_scale: bool = True
) -> DrawnMatrix:
    """Name the rows and columns of a head's matrix, and its colours.

    `number` says what its numbers are; `full_scale`: colours run from 0 to 1, else to the largest number.
    """
    highest = 1.0 if full_scale else float(max(matrix.weights.max(initial=0.0), 1e-9))
    return DrawnMatrix(
        number, matrix.weights, labels(matrix.queries), labels(matrix.keys), 4, highest,
        ends=("0", two_digits(highest)), visible=matrix.visible, marks=marks,
    )  # fmt: skip


def matrices_record(matrices: Iterable[DrawnMatrix], theme: Theme, hint: str = "", *, picks: bool = False) -> dict[str, Any]:
    """Write matrices that stand side by side, or one; `hint` stands below until a cell is read. A click picks "row.column"."""
    return {"part": "matrices", "matrices": [each.record(theme) for each in matrices], "hint": hint, "picks": picks}
