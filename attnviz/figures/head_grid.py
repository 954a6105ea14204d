"""All heads of a map as a grid of buttons: rows are layers, columns are heads."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import head_name
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on

STYLE = Path(__file__).with_name("head_grid.css").read_text(encoding="utf-8")
_NO_HEAD = '<span class="axis">–</span>'


@dataclass(frozen=True)
class HeadCell:
    """What stands in the place of a head: what a click gives (`data-pick`), its figure, its colour, and what it is in full."""

    pick: str
    figure: str
    colour: str
    title: str
    chosen: bool = False
    name: str = ""


def head_grid(shape: tuple[int, int], cell: Callable[[int, int], HeadCell | None]) -> str:
    """Draw the grid as HTML; None: there is no head at that place.

    >>> drawn = head_grid((1, 2), lambda layer, head: HeadCell(f"{layer}.{head}", ".5", "#ffffff", "L0"))
    >>> drawn.count("<button"), "H1" in drawn
    (2, True)
    """
    cells = with_axes(shape, lambda layer, head: head_button(one) if (one := cell(layer, head)) else _NO_HEAD)
    return f'<div class="costs" style="--layers:{shape[0]};--heads:{shape[1]}">{cells}</div>'


def with_axes(shape: tuple[int, int], cell: Callable[[int, int], str]) -> str:
    """Write the cells of all heads, row by row, with the numbers of the heads above and of the layers beside them."""
    n_layers, n_heads = shape
    kind = "axis many" if n_heads > 9 else "axis"
    parts = ['<span class="axis"></span>', *(f'<span class="{kind}">H{head}</span>' for head in range(n_heads))]
    for layer in range(n_layers):
        parts.append(f'<span class="axis layer">L{layer}</span>')
        parts += [cell(layer, head) for head in range(n_heads)]
    return "".join(parts)


def measured_grid(
    values: Float[np.ndarray, "layer head"],
    written: Callable[[float], str],
    *,
    strength: Callable[[float], float],
    chosen: tuple[int, int],
    theme: Theme = LIGHT,
) -> str:
    """Draw one number of every head, as `written`, on a colour as strong as `strength` says, from 0 to 1."""

    def cell(layer: int, head: int) -> str:
        value, is_chosen = float(values[layer, head]), (layer, head) == chosen
        return (
            f'<button class="head" data-pick="{layer}.{head}" aria-pressed="{str(is_chosen).lower()}" '
            f'style="--strength:{strength(value):.2f}">'
            f'<span class="rate">{written(value)}</span><span class="where">{head_name(layer, head)}</span></button>'
        )

    style = f"{css_variables(theme)};--heads:{values.shape[1]}"
    return f'<div class="atlas measured" style="{style}">{with_axes(values.shape, cell)}</div>'


def head_button(cell: HeadCell) -> str:
    """Draw one head."""
    return (
        f'<button class="head" data-pick="{html.escape(cell.pick)}" aria-pressed="{str(cell.chosen).lower()}" '
        f'title="{html.escape(cell.title)}" aria-label="{html.escape(cell.title)}" '
        f'style="background:{cell.colour};color:{ink_on(cell.colour)}">'
        f"<b>{html.escape(cell.name)}</b> <span>{cell.figure}</span></button>"
    )


def least_width(n_heads: int) -> int:
    """Return the least width of the grid in pixels, so that a cell has room for its figure."""
    return 60 + 36 * n_heads
