"""The links of a translation on paper: the sentence on the left, the translation on the right, curves as wide as weights."""

from collections.abc import Iterator, Sequence

import numpy as np

from attnviz.analysis.head_metrics import Link
from attnviz.export.paper import COLUMN, FONT, PADDING, Arc, Label, Sheet, printed_text, width_of
from attnviz.export.picture import Picture
from attnviz.figures.theme import LIGHT

ROW = 11.0
LEAST_ROOM = 70.0
LEAST_WEIGHT = 0.03
# Beside the links that are drawn as decided the others fade.
FADED = 0.15


def draw_links(picture: Picture, decided: Sequence[Link] | None = None) -> Sheet:
    """Draw the words in two columns of the same height, the written ones with their largest weight, and the links between them.

    decided  the links that stand out, if any were chosen
    """
    matrix = picture.matrix
    source, target = ([printed_text(token) for token in tokens] for tokens in (matrix.keys, matrix.queries))
    figures = [f"{row.max():.2f}" for row in matrix.weights]
    left, right = (2 * PADDING + max(map(width_of, texts)) * FONT for texts in (source, target))
    start, end = left, max(COLUMN - right - 5 * FONT, left + LEAST_ROOM)
    height = max(len(source), len(target)) * ROW
    # Both columns are as high, however many words they have.
    sources, targets = (
        [PADDING + (row + 0.5) * height / len(texts) for row in range(len(texts))] for texts in (source, target)
    )
    labels = [Label(start - PADDING, y, text, "end") for y, text in zip(sources, source, strict=True)]
    labels += [Label(end + PADDING, y, text) for y, text in zip(targets, target, strict=True)]
    width = end + right + width_of("0.00") * FONT + PADDING
    labels += [Label(width - PADDING, y, figure, "end", colour=LIGHT.faint) for y, figure in zip(targets, figures, strict=True)]
    arcs = (
        Arc(start, sources[link.key], end, targets[link.query], colour, 0.4 + 2.4 * link.weight, opacity, _data(link))
        for link, colour, opacity in _visible_links(picture, decided)
    )
    title = f"{picture.name} of {picture.model}: the words of the sentence, left, and of its translation, right"
    return Sheet(title, width, height + 2 * PADDING, (*arcs, *labels))


def _visible_links(picture: Picture, decided: Sequence[Link] | None) -> Iterator[tuple[Link, str, float]]:
    """List the links that can be seen, the strongest last, each with its colour and its opacity."""
    weights = picture.matrix.weights
    cells = {(link.query, link.key) for link in decided or ()}
    visible = {(int(query), int(key)) for query, key in np.argwhere(weights >= LEAST_WEIGHT)} | cells
    for cell in sorted(visible, key=lambda cell: (cell in cells, weights[cell])):
        weight = float(weights[cell])
        link = Link(*cell, weight)
        if decided is not None and cell not in cells:
            yield link, LIGHT.faint, FADED
        else:
            yield link, LIGHT.accent, 1.0 if cell in cells else 0.1 + 0.85 * weight


def _data(link: Link) -> tuple[tuple[str, str], ...]:
    return ("query", str(link.query)), ("key", str(link.key)), ("weight", f"{link.weight:.6g}")
