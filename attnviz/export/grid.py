"""All heads on paper: layers down, heads across, each a small picture."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from attnviz.export.matrix import colours
from attnviz.export.picture import Picture, pictures
from attnviz.export.sheet import FONT, PADDING, PAGE, Item, Label, Pixels, Sheet, titled

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
