"""Pictures of a head on paper: a matrix with its tokens and colours, a grid of all heads, and arcs between the words."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import UInt8

from attnviz.export.paper import (
    COLUMN,
    FONT,
    LINE,
    PADDING,
    PAGE,
    Arc,
    Item,
    Label,
    Pixels,
    Rectangle,
    Sheet,
    printed_text,
    titled,
    width_of,
)
from attnviz.export.picture import Picture, pictures
from attnviz.figures.explorer import page
from attnviz.figures.theme import LIGHT, rgb


def explorer_page(picture: Picture) -> bytes:
    """Write an HTML document in UTF-8.

    Raises:
        TooLargeError: the trace has more weights than a file that a browser opens can hold.
    """
    return page(picture.trace, view=picture.view, opens=(picture.kind, picture.layer, picture.head)).encode("utf-8")


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
        yield Label(left + BAR_LENGTH, below, f"{end:.2g}", "end")
    yield Label(left + BAR_LENGTH + PADDING, middle, "edited weight" if picture.trace.edits else "weight")
    if not picture.matrix.visible.all():
        masked = left + BAR_LENGTH + (72 if picture.trace.edits else 42)
        yield Rectangle(masked, middle - MASKED_SIDE / 2, MASKED_SIDE, MASKED_SIDE, LIGHT.masked)
        yield Label(masked + MASKED_SIDE + PADDING, middle, picture.masked)


GAP = 2.0
LARGEST = 48.0
MARGIN = 18.0
# More pixels than this on a side cannot be told apart.
PIXELS = 64


def draw_grid(picture: Picture) -> Sheet:
    """Draw every head of the map of a picture, under its view."""
    attention = picture.trace.map(picture.kind)
    heads = pictures(picture.trace, kind=picture.kind, view=picture.view)
    side = min(LARGEST, (PAGE - MARGIN) / attention.n_heads - GAP)
    step = max(1, int(np.ceil(2 * FONT / (side + GAP))))
    items: list[Item] = []
    for index, each in enumerate(heads):
        layer, head = divmod(index, attention.n_heads)
        end = replace(each, full_scale=picture.full_scale).highest
        items.append(Pixels(*_place(layer, head, side), side, side, _pooled(colours(each, end))))
    for head in range(0, attention.n_heads, step):
        items.append(Label(_place(0, head, side)[0] + side / 2, MARGIN / 2, str(head), "middle"))
    for layer in range(0, attention.n_layers, step):
        items.append(Label(MARGIN - PADDING, _place(layer, 0, side)[1] + side / 2, str(layer), "end"))
    width, height = _place(attention.n_layers, attention.n_heads, side)
    title = f"All heads of {picture.model}, {picture.kind} attention: layers down, heads across"
    return titled(Sheet(title, width, height, tuple(items)), title)


def _place(layer: int, head: int, side: float) -> tuple[float, float]:
    return MARGIN + head * (side + GAP), MARGIN + layer * (side + GAP)


def _pooled(cells: np.ndarray) -> np.ndarray:
    """Shrink the colours of a long text: of the cells that share a pixel the darkest, which is the strongest, is seen."""
    for axis in (0, 1):
        count = cells.shape[axis]
        if count <= PIXELS:
            continue
        edges = pairwise(np.linspace(0, count, PIXELS + 1).astype(int))
        cells = np.stack([np.take(cells, range(start, end), axis).min(axis) for start, end in edges], axis)
    return cells


ROW = 11.0
LEAST_ROOM = 70.0
LEAST_SHARE = 0.03


def draw_arcs(picture: Picture) -> Sheet:
    """Draw the links of a head of at least that share of the strongest colour, the strongest on top."""
    matrix = picture.matrix
    sides = [[printed_text(token) for token in tokens] for tokens in (matrix.queries, matrix.keys)]
    left, right = (2 * PADDING + max(width_of(text) for text in texts) * FONT for texts in sides)
    start, end = left, max(COLUMN - right, left + LEAST_ROOM)
    labels = (
        Label(x, _y(row), text, anchor)
        for texts, x, anchor in zip(sides, (start - PADDING, end + PADDING), ("end", "start"), strict=True)
        for row, text in enumerate(texts)
    )
    title = f"{picture.name} of {picture.model}, {picture.kind} attention: queries left, keys right"
    height = max(map(len, sides)) * ROW + 2 * PADDING
    return Sheet(title, end + right, height, (*_arcs(picture, start, end), *labels))


def _y(row: int) -> float:
    return PADDING + (row + 0.5) * ROW


def _arcs(picture: Picture, start: float, end: float) -> Iterator[Item]:
    weights = picture.matrix.weights
    shares = np.clip(weights / picture.highest, 0, 1)
    links = np.argwhere(shares >= LEAST_SHARE)
    for query, key in sorted(links.tolist(), key=lambda link: shares[tuple(link)]):
        share = float(shares[query, key])
        data = (("query", str(query)), ("key", str(key)), ("weight", f"{weights[query, key]:.6g}"))
        yield Arc(start, _y(query), end, _y(key), LIGHT.accent, 0.4 + 2.4 * share, 0.1 + 0.85 * share, data)
