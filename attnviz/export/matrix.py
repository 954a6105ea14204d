"""A matrix on paper: its tokens beside it and above it, and a bar for its colours below."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from attnviz.export.picture import Picture
from attnviz.export.sheet import (
    COLUMN,
    FONT,
    LINE,
    PADDING,
    PAGE,
    Item,
    Label,
    Pixels,
    Rectangle,
    Sheet,
    printed_text,
    width_of,
)
from attnviz.figures.theme import LIGHT, rgb

TALLEST = 560.0
LARGEST_CELL = 20.0
# A cell of its own takes about 110 bytes. Of more cells, a file would be too large for a paper: they become one image.
MAX_CELLS = 16_384
BAR_LENGTH, BAR_HEIGHT, BAR_ROOM = 56.0, 4.0, 24.0
BAR_STEPS = 28
MASKED_SIDE = 5.0


@dataclass(frozen=True)
class Room:
    """Where the cells stand, which are squares of side `cell`, and how many labels apart those are that are written."""

    left: float
    top: float
    cell: float

    @property
    def step(self) -> int:
        """Labels that would touch are left out, evenly: none is made too small to be read."""
        return max(1, math.ceil(FONT * LINE / self.cell))

    @property
    def gap(self) -> float:
        """Between cells, where they are large enough to be told apart."""
        return 0.4 if self.cell >= 3 else 0.0


def draw_matrix(picture: Picture) -> Sheet:
    """Draw a matrix. Each cell has its query, its key and its weight as data; a masked one has no weight."""
    matrix = picture.matrix
    rows, columns = ([printed_text(token) for token in tokens] for tokens in (matrix.queries, matrix.keys))
    room = fit(rows, columns)
    right, bottom = room.left + len(columns) * room.cell, room.top + len(rows) * room.cell
    whole = matrix.weights.size > MAX_CELLS
    cells = _image(picture, room) if whole else _cells(picture, room)
    bar = tuple(_bar(picture, room.left, bottom + BAR_ROOM / 2 - BAR_HEIGHT))
    reach = [each.x + width_of(each.text) * FONT for each in bar if isinstance(each, Label) and each.anchor == "start"]
    title = f"{picture.name} of {picture.model}, {picture.kind} attention: queries down, keys across"
    return Sheet(title, max(right, *reach) + PADDING, bottom + BAR_ROOM, (*cells, *bar, *axis_labels(room, rows, columns)))


def fit(rows: Sequence[str], columns: Sequence[str]) -> Room:
    """Fit the matrix into the column of a paper if every label can be written there, else into the width of its page."""
    left = 2 * PADDING + max(width_of(text) for text in rows) * FONT
    top = 2 * PADDING + max(width_of(text) for text in columns) * FONT
    rooms = [
        Room(left, top, min(LARGEST_CELL, (TALLEST - top - BAR_ROOM) / len(rows), (width - left - PADDING) / len(columns)))
        for width in (COLUMN, PAGE)
    ]
    return rooms[0] if rooms[0].step == 1 else rooms[1]


def axis_labels(room: Room, rows: Sequence[str], columns: Sequence[str]) -> Iterator[Label]:
    """Write the labels beside the rows, and upright above the columns."""
    for row in range(0, len(rows), room.step):
        yield Label(room.left - PADDING, room.top + (row + 0.5) * room.cell, rows[row], "end")
    for column in range(0, len(columns), room.step):
        yield Label(room.left + (column + 0.5) * room.cell, room.top - PADDING, columns[column], angle=90.0)


def colours(picture: Picture, end: float) -> UInt8[np.ndarray, "query key 3"]:
    """Colour every cell, 0 to 255, the strongest from the weight `end` on: light, since paper is."""
    matrix = picture.matrix
    shades = LIGHT.lookup[np.rint(np.clip(matrix.weights / end, 0, 1) * 255).astype(int)]
    return np.where(matrix.visible[..., None], shades, np.array(rgb(LIGHT.masked), dtype=np.uint8))


def _cells(picture: Picture, room: Room) -> Iterator[Item]:
    matrix, shades, side = picture.matrix, colours(picture, picture.end), room.cell - room.gap
    for query, key in np.ndindex(matrix.weights.shape):
        red, green, blue = shades[query, key]
        data = (("query", str(query)), ("key", str(key)))
        if matrix.visible[query, key]:
            data = (*data, ("weight", f"{matrix.weights[query, key]:.6g}"))
        x, y = room.left + key * room.cell, room.top + query * room.cell
        yield Rectangle(x, y, side, side, f"#{red:02x}{green:02x}{blue:02x}", data=data)


def _image(picture: Picture, room: Room) -> Iterator[Item]:
    """Draw the cells as the pixels of one image."""
    rows, columns = picture.matrix.weights.shape
    yield Pixels(room.left, room.top, columns * room.cell, rows * room.cell, colours(picture, picture.end))


def _bar(picture: Picture, left: float, top: float) -> Iterator[Item]:
    step = BAR_LENGTH / BAR_STEPS
    for index in range(BAR_STEPS):
        # A little wider than a step, so that no gap shines through.
        wide = step if index == BAR_STEPS - 1 else step + 0.3
        yield Rectangle(left + index * step, top, wide, BAR_HEIGHT, LIGHT.colour(index / (BAR_STEPS - 1)))
    middle, below = top + BAR_HEIGHT / 2, top + BAR_HEIGHT + 6
    yield Label(left, below, "0")
    if (end := picture.end) < picture.highest:
        yield Label(left + 2 * PADDING + FONT, below, f"{end:.2g} or more: at most 1 % of the weights")
    else:
        yield Label(left + BAR_LENGTH, below, f"{end:.2f}".rstrip("0").rstrip("."), "end")
    yield Label(left + BAR_LENGTH + PADDING, middle, "edited weight" if picture.trace.edits else "weight")
    if not picture.matrix.visible.all():
        masked = left + BAR_LENGTH + (72 if picture.trace.edits else 42)
        yield Rectangle(masked, middle - MASKED_SIDE / 2, MASKED_SIDE, MASKED_SIDE, LIGHT.masked)
        yield Label(masked + MASKED_SIDE + PADDING, middle, "masked")
