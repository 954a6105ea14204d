"""All heads of a model on paper: in each box a few words or a number, on a colour."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.export.sheet import FONT, PADDING, Item, Label, Rectangle, Sheet, titled, width_of
from attnviz.figures.theme import LIGHT, ink_on, mixed

SMALL = 5.0
LEFT, TOP, HIGH = 20.0, 14.0, 26.0


class HeadBox(NamedTuple):
    """What stands in the box of a head: words, a figure below them, and how strong its colour is, from 0 to 1."""

    words: str
    figure: str
    strength: float = 0.0


def draw_head_grid(shape: tuple[int, int], box: Callable[[int, int], HeadBox], title: str) -> Sheet:
    """Draw a box a head: rows are layers, columns are heads."""
    boxes = {place: box(*place) for place in np.ndindex(*shape)}
    wide = 8.0 + max(width_of(line) for each in boxes.values() for line in (*_lines(each.words), each.figure, "L0·H0")) * SMALL
    items: list[Item] = []
    for (layer, head), each in boxes.items():
        x, y = LEFT + head * wide, TOP + layer * HIGH
        colour = mixed(LIGHT.background, LIGHT.accent, 0.6 * min(max(each.strength, 0.0), 1.0))
        items.append(Rectangle(x, y, wide - 1.0, HIGH - 1.0, colour, data=(("figure", each.figure),)))
        for row, line in enumerate([*_lines(each.words), each.figure]):
            place = y + 5.0 + row * SMALL * 1.4
            items.append(Label(x + wide / 2, place, line, "middle", size=SMALL, colour=ink_on(colour)))
    n_layers, n_heads = shape
    items += [Label(LEFT - PADDING, TOP + (layer + 0.5) * HIGH, f"L{layer}", "end") for layer in range(n_layers)]
    items += [Label(LEFT + (head + 0.5) * wide, TOP / 2, f"H{head}", "middle") for head in range(n_heads)]
    return titled(Sheet(title, LEFT + n_heads * wide + PADDING, TOP + n_layers * HIGH + FONT, tuple(items)), title)


def _lines(words: str) -> list[str]:
    """Break a claim before its arrow; a grid of numbers alone has no words."""
    before, arrow, after = words.partition("→")
    return [line for line in (before.strip(), f"{arrow} {after.strip()}".strip()) if line]


def draw_measure(values: Float[np.ndarray, "layer head"], written: Callable[[float], str], title: str) -> Sheet:
    """Draw one number of every head, the largest on the strongest colour."""
    highest = max(float(np.nanmax(values, initial=0.0)), 1e-12)

    def box(layer: int, head: int) -> HeadBox:
        value = float(values[layer, head])
        return HeadBox("", written(value), 0.0 if np.isnan(value) else value / highest)

    return draw_head_grid(values.shape, box, title)


def measure_csv(values: Float[np.ndarray, "layer head"], name: str) -> bytes:
    """Write one number of every head as CSV."""
    return csv_table(
        ("layer", "head", name), [(*place, NumberCell(float(values[place]))) for place in np.ndindex(*values.shape)]
    )
