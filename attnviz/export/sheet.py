"""How a matrix lies on paper: at the width of a column, in points (1/72 inch), for whatever draws it."""

import html
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from attnviz.core.trace import Token
from attnviz.export.picture import Picture
from attnviz.figures.theme import LIGHT, rgb
from attnviz.figures.tokens import label

# A column of an ACL paper is 77 mm wide.
COLUMN = 218.0
TALLEST = 560.0
# Below 5 points print cannot be read; labels that would stand closer than that are left out, evenly.
LARGEST_FONT, SMALLEST_FONT = 7.0, 5.0
LARGEST_CELL = 20.0
MAX_LABEL = 20
LINE = 1.1  # of the font's size
BAR_LENGTH, BAR_HEIGHT, BAR_ROOM = 56.0, 4.0, 22.0
PADDING = 3.0
LEAN = math.sqrt(0.5)
MASKED_SIDE = 5.0


@dataclass(frozen=True)
class Label:
    """A text whose anchor stands at (x, y), the middle of its height; turned by `angle` degrees, upwards."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    angle: float = 0.0


@dataclass(frozen=True, eq=False)
class Sheet:
    """Where all of it stands; y runs downwards. `colours` are those of the cells, which are squares of side `cell`."""

    width: float
    height: float
    left: float
    top: float
    cell: float
    font: float
    labels: tuple[Label, ...]
    colours: UInt8[np.ndarray, "query key 3"]
    bar_top: float
    masked: float | None

    @property
    def gap(self) -> float:
        """Between cells, where they are large enough to be told apart."""
        return 0.4 if self.cell >= 3 else 0.0


def lay_out(picture: Picture) -> Sheet:
    """Lay out the matrix, with its tokens beside and leaning above it, and a colour bar below."""
    matrix = picture.matrix
    n_queries, n_keys = matrix.weights.shape
    rows, columns = ([printed_text(token) for token in tokens] for tokens in (matrix.queries, matrix.keys))
    left, high, cell, font = _fitted(rows, columns, _fitted(rows, columns, LARGEST_FONT)[-1])
    step = math.ceil(font * LINE / cell)
    right, bottom = left + n_keys * cell, high + n_queries * cell
    beside = (Label(left - PADDING, high + (row + 0.5) * cell, rows[row], "end") for row in range(0, n_queries, step))
    above = (Label(left + (key + 0.5) * cell, high - PADDING, columns[key], angle=45.0) for key in range(0, n_keys, step))
    bar_top = bottom + BAR_ROOM / 2 - BAR_HEIGHT
    masked = None if matrix.visible.all() else left + BAR_LENGTH + (72 if picture.trace.edits else 42)
    reach = (left + (key + 0.5) * cell + width_of(text) * font * LEAN for key, text in enumerate(columns))
    width = max(right + PADDING, *(each + PADDING for each in reach), (masked or left + BAR_LENGTH) + 34)
    bar = _bar_labels(picture, left, bar_top, masked)
    return Sheet(width, bottom + BAR_ROOM, left, high, cell, font, (*beside, *above, *bar), colours(picture), bar_top, masked)


def colours(picture: Picture) -> UInt8[np.ndarray, "query key 3"]:
    """Colour every cell, 0 to 255: light, since paper is."""
    matrix = picture.matrix
    shades = LIGHT.lookup[np.rint(np.clip(matrix.weights / picture.highest, 0, 1) * 255).astype(int)]
    return np.where(matrix.visible[..., None], shades, np.array(rgb(LIGHT.masked), dtype=np.uint8))


def printed_text(token: Token) -> str:
    """Write a token as a label; a long one is cut, and what no printer knows becomes �.

    >>> printed_text(Token("a\\x01b", 0, 3)), printed_text(Token("a" * 30, 0, 30))
    ('a�b', 'aaaaaaaaaaaaaaaaaaa…')
    """
    text = html.unescape(label(token))
    text = "".join("\ufffd" if unicodedata.category(character) in ("Cc", "Cs", "Cn") else character for character in text)
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"


def width_of(text: str) -> float:
    """Estimate how wide a text is, in its font's size: no font is read, since the reader's may be another.

    >>> width_of("ab"), width_of("中文")
    (1.16, 2.0)
    """
    return sum(1.0 if unicodedata.east_asian_width(character) in "WF" else 0.58 for character in text)


def _fitted(rows: Sequence[str], columns: Sequence[str], font: float) -> tuple[float, float, float, float]:
    """Fit the room for the labels left and above in that font, the side of a cell, and the font that fits the cell."""
    left = PADDING * 2 + max(width_of(text) for text in rows) * font
    high = 2 * PADDING + (max(width_of(text) for text in columns) + 1) * font * LEAN
    room = COLUMN - left - PADDING
    # Every label leans out to the right, each from the middle of its own cell.
    leaning = ((room - width_of(text) * font * LEAN) / (key + 0.5) for key, text in enumerate(columns))
    cell = min(LARGEST_CELL, (TALLEST - high - BAR_ROOM) / len(rows), room / len(columns), *leaning)
    return left, high, cell, min(font, max(SMALLEST_FONT, cell * 0.9))


def _bar_labels(picture: Picture, left: float, top: float, masked: float | None) -> tuple[Label, ...]:
    middle, below = top + BAR_HEIGHT / 2, top + BAR_HEIGHT + 5
    highest = f"{picture.highest:.2f}".rstrip("0").rstrip(".")
    labels = [
        Label(left, below, "0"),
        Label(left + BAR_LENGTH, below, highest, "end"),
        Label(left + BAR_LENGTH + PADDING, middle, "edited weight" if picture.trace.edits else "weight"),
    ]
    return (*labels, *([] if masked is None else [Label(masked + MASKED_SIDE + PADDING, middle, "masked")]))
