"""Arcs on paper from queries, on the left, to keys, on the right; an arc's width and opacity are the weight."""

from collections.abc import Iterator

import numpy as np

from attnviz.export.picture import Picture
from attnviz.export.sheet import COLUMN, FONT, PADDING, Arc, Item, Label, Sheet, printed_text, width_of
from attnviz.figures.theme import LIGHT

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
