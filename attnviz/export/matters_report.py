"""The report of the page Matters, on paper and as tables: the words' shares by every method, and how faithful each is."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
from jaxtyping import Float

from attnviz.analysis.matters import AttributionReport, Removals
from attnviz.analysis.wording import cut, signed
from attnviz.export.csv_table import csv_table
from attnviz.export.grids_and_matrices import axis_labels, fit
from attnviz.export.paper import FONT, MAX_LABEL, PADDING, PAGE, SIZE, Item, Label, Rectangle, Sheet, in_lines
from attnviz.figures.matters_text import share_colours
from attnviz.figures.theme import LIGHT, diverging, ink_on

ROW = 15.0
# Beside a strip stand the method's name and its figure.
NAME, FIGURE, STRIP = 165.0, 30.0, 11.0
_MOST_WORD, _MOST_TITLE = 40, 100


def draw_attribution(report: AttributionReport, method: str, titles: Mapping[str, str]) -> Sheet:
    """Draw the text shaded by one method, and below it a strip for each method with its comprehensiveness."""
    title = cut(f"{report.target}, p = {report.probability:.2f}; {titles[method]}", _MOST_TITLE)
    items: list[Item] = [Label(PADDING, PADDING + FONT, title, bold=True)]
    y, line = PADDING + 2.5 * FONT, 0
    words = [cut(word, _MOST_WORD) for word in report.words]
    colours = share_colours(report.shares[method], report.own)
    for place, ((x, line, wide), colour) in enumerate(zip(in_lines(words), colours, strict=True)):
        items.append(
            Rectangle(x, y + line * ROW, wide, ROW - 2, colour, "", (("share", f"{report.shares[method][place]:.6g}"),))
        )
        items.append(
            Label(x + 1.5, y + line * ROW + (ROW - 2) / 2, words[place], size=SIZE, colour=ink_on(colour),
                  bold=place in report.own, width=max(wide - 3, 1.0))
        )  # fmt: skip
    y += (line + 1) * ROW + 2 * PADDING
    for name in report.figures:
        items += _strip(report, name, titles[name], y)
        y += STRIP + 3
    items.sort(key=lambda item: isinstance(item, Label))
    return Sheet(f"What {report.target} depends on", PAGE, y + PADDING, tuple(items))


def _strip(report: AttributionReport, name: str, title: str, y: float) -> Iterator[Item]:
    middle = y + STRIP / 2
    yield Label(PADDING, middle, title, size=FONT)
    yield Label(PAGE - PADDING, middle, signed(report.figures[name].comprehensiveness), "end", size=FONT)
    if name == "random":
        return
    wide = (PAGE - NAME - FIGURE) / len(report.words)
    for place, colour in enumerate(share_colours(report.shares[name], report.own)):
        yield Rectangle(NAME + place * wide, y, wide, STRIP, colour)


def draw_methods(
    titles: Sequence[str], words: Sequence[str], values: Float[np.ndarray, "method word"], hidden: Collection[int]
) -> Sheet:
    """Draw the words' shares as a table, a row for each method; of a `hidden` row none is drawn."""
    columns = [cut(word, MAX_LABEL) for word in words]
    room = fit(titles, columns)
    items: list[Item] = []
    for row, column in np.ndindex(values.shape):
        data = (("method", str(row)), ("word", str(column)))
        colour = LIGHT.masked
        if row not in hidden:
            data = (*data, ("share", f"{values[row, column]:.6g}"))
            colour = diverging(float(values[row, column]))
        side, x, y = room.cell - room.gap, room.left + column * room.cell, room.top + row * room.cell
        items.append(Rectangle(x, y, side, side, colour, data=data))
    width, height = room.left + len(columns) * room.cell + PADDING, room.top + len(titles) * room.cell + PADDING
    title = "How much each word is worth to the output: a row is a method, a column a word"
    return Sheet(title, width, height, (*items, *axis_labels(room, titles, columns)))


def shares_csv(report: AttributionReport) -> bytes:
    """Write a row a word: its place, its text, whether it is the output's own, and its share by every method."""
    shares = report.shares.values()
    rows = (
        (place, word, place in report.own, *(float(each[place]) for each in shares)) for place, word in enumerate(report.words)
    )
    return csv_table(("place", "word", "own", *report.shares), rows)


def attribution_json(report: AttributionReport, method: str, curve: Removals | None) -> bytes:
    """Write all of it: the target, the words, shares, figures, one method's curve, and why some methods were refused."""
    facts = {
        "target": report.target,
        "probability": report.probability,
        "words": list(report.words),
        "own": sorted(report.own),
        "shares": {name: np.asarray(values).tolist() for name, values in report.shares.items()},
        "figures": {
            name: {"way": name} | asdict(figure) | {"tau": report.agreement(name)} for name, figure in report.figures.items()
        },
        "curves": {method: asdict(curve)} if curve else {},
        "refused": dict(report.refused),
    }
    return json.dumps(facts, ensure_ascii=False).encode("utf-8")
