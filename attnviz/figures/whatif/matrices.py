"""The head that is compared: a matrix for each side, the difference between aligned tokens, and its largest changes."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.whatif.comparison import Change, Comparison
from attnviz.analysis.wording import cut, head_name, percent, points, whole_percent
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.head_grid import HeadCell, head_grid, least_width
from attnviz.figures.matrix import MOST_LABEL, DrawnMatrix, labels, matrix_svg
from attnviz.figures.matrix import STYLE as MATRIX
from attnviz.figures.theme import LIGHT, Theme, css_variables, diverging

STYLE = GRID + MATRIX + Path(__file__).with_name("whatif.css").read_text(encoding="utf-8")
_READING = '<p class="reading" aria-live="polite">Point at a cell, or press Tab and then the arrow keys.</p>'


def divergence_grid(compared: Comparison, *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw how far each head has moved, in percent of a bit, as a grid of buttons (`data-pick` is "layer.head")."""
    # A head that is off has moved as far as can be: the others would all look alike.
    largest = float(compared.divergence[~compared.is_off].max(initial=0.0)) or 1.0

    def cell(layer: int, head: int) -> HeadCell:
        bits = float(compared.divergence[layer, head])
        title = f"{head_name(layer, head)}: average change {percent(bits)}"
        short = whole_percent(bits).split("\xa0")[0]
        return HeadCell(f"{layer}.{head}", short, theme.colour(bits / largest), title, (layer, head) == chosen)

    stops = ",".join(theme.colour(step / 8) for step in range(9))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    scale = f'<p class="scale"><span>0 {bar} {percent(largest)}</span><span>stronger colour: larger change</span></p>'
    grid = head_grid(compared.divergence.shape, cell)
    width = least_width(compared.divergence.shape[1])
    return f'<div class="ablation" style="{css_variables(theme)};--least:{width}px">{grid}{scale}</div>'


def three_matrices(compared: Comparison, layer: int, head: int, names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw a head before, after, and the difference, whose rows and columns are the aligned tokens."""
    moved = compared.difference(layer, head)
    largest = max(float(np.abs(moved).max(initial=0.0)), 1e-9)
    stops = ",".join(diverging(share / 4, theme) for share in range(-4, 5))
    bar = f' ±{points(largest).lstrip("+")}<i style="background:linear-gradient(90deg,{stops})"></i>'
    matrices = [*_sides(compared, layer, head, names, theme), _difference(compared, moved, largest, theme)]
    names_down, names_across = (
        [name for each in matrices for name in each.rows],
        [name for each in matrices for name in each.columns],
    )
    longest = max(map(len, names_down)), max(map(len, names_across))
    matrices = [replace(each, longest=longest) for each in matrices]
    drawn = "".join(
        f'<figure data-name="{html.escape(matrix.name)}"><figcaption>{html.escape(matrix.name)}{after}</figcaption>'
        f"{matrix_svg(matrix)}</figure>"
        for matrix, after in zip(matrices, ("", "", bar), strict=True)
    )
    return f'<div style="{css_variables(theme)}"><div class="compared">{drawn}</div>{_READING}</div>'


def _sides(compared: Comparison, layer: int, head: int, names: tuple[str, str], theme: Theme) -> Iterator[DrawnMatrix]:
    for side, (attention, name) in enumerate(zip((compared.before, compared.after), names, strict=True)):
        queries, keys = ({pair[side]: at for at, pair in enumerate(pairs)} for pairs in (compared.queries, compared.keys))
        weights = attention.weights(layer, head)
        yield DrawnMatrix(name, weights, labels(attention.queries), labels(attention.keys), theme.colour, (queries, keys))


def _difference(compared: Comparison, moved: Float[np.ndarray, "query key"], largest: float, theme: Theme) -> DrawnMatrix:
    rows, columns = aligned_labels(compared)
    shared = {at: at for at in range(len(rows))}, {at: at for at in range(len(columns))}
    return DrawnMatrix("Difference", moved, rows, columns, lambda change: diverging(change / largest, theme), shared, "+.3f")


def aligned_labels(compared: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the aligned queries and keys; where both sides differ, both tokens."""
    before, after = compared.before, compared.after
    sides = ((compared.queries, before.queries, after.queries), (compared.keys, before.keys, after.keys))
    rows, columns = (
        tuple(
            cut(one if (one := before[left].text) == (other := after[right].text) else f"{one}→{other}", MOST_LABEL)
            for left, right in pairs
        )
        for pairs, before, after in sides
    )
    return rows, columns


def changes_table(changes: Sequence[Change], names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw the links that changed most as a table: the weight on both sides, and the change, the largest first."""
    figures = "".join(f'<th scope="col" class="figure">{html.escape(name)}</th>' for name in (*names, "Change"))
    headings = f'<th scope="col">Looks → at</th>{figures}'
    rows = ""
    for change in changes:
        link = " → ".join(f"<bdi>{html.escape(token.text)}</bdi>" for token in (change.query, change.key))
        numbers = (percent(change.was), percent(change.now), points(change.now - change.was))
        figures = "".join(f'<td class="figure">{number}</td>' for number in numbers)
        rows += f"<tr><td>{link}</td>{figures}</tr>"
    table = f'<table class="changes"><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div style="{css_variables(theme)}">{table}</div>'
