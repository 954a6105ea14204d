"""The head that is compared: a matrix for each side, the difference between aligned tokens, and its largest changes."""

import base64
import html
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image

from attnviz.analysis.whatif.comparison import Change, Comparison
from attnviz.analysis.wording import cut, head_name, signed
from attnviz.core.trace import Token
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.head_grid import HeadCell, head_grid, least_width
from attnviz.figures.theme import LIGHT, Theme, css_variables, diverging, rgb

STYLE = GRID + Path(__file__).with_name("whatif.css").read_text(encoding="utf-8")
# How large a matrix is in units of its own drawing, in which its labels have 14; on the page it has the width that there is.
PIXELS, FONT = 330, 14
MOST_LABEL = 14
# Of more cells, which nobody could point at, the matrix is one image.
MOST_CELLS = 2_500
_READING = '<p class="reading" aria-live="polite">Point at a cell, or press Tab and then the arrow keys.</p>'


def divergence_grid(compared: Comparison, *, chosen: tuple[int, int], theme: Theme = LIGHT) -> str:
    """Draw how far each head has moved, in bits, as a grid of buttons (`data-pick` is "layer.head")."""
    # A head that is off has moved as far as can be: the others would all look alike.
    largest = float(compared.divergence[~compared.is_off].max(initial=0.0)) or 1.0

    def cell(layer: int, head: int) -> HeadCell:
        bits = float(compared.divergence[layer, head])
        title = f"{head_name(layer, head)} changed by {bits:.3f}"
        short = f"{bits:.2f}".replace("0.", ".", 1)
        return HeadCell(f"{layer}.{head}", short, theme.colour(bits / largest), title, (layer, head) == chosen)

    stops = ",".join(theme.colour(step / 8) for step in range(9))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    scale = f'<p class="scale"><span>0 {bar} {largest:.2f}</span><span>each head: change of its attention, 0 to 1</span></p>'
    grid = head_grid(compared.divergence.shape, cell)
    width = least_width(compared.divergence.shape[1])
    return f'<div class="ablation" style="{css_variables(theme)};--least:{width}px">{grid}{scale}</div>'


@dataclass(frozen=True, eq=False)
class DrawnMatrix:
    """A matrix with what its rows and columns are called.

    shared   for rows and columns, their numbers among the aligned tokens, which all matrices have
    written  how a weight is
    """

    name: str
    weights: Float[np.ndarray, "query key"]
    rows: Sequence[str]
    columns: Sequence[str]
    colour: Callable[[float], str]
    shared: tuple[Mapping[int, int], Mapping[int, int]] = ({}, {})
    written: str = ".3f"


def three_matrices(compared: Comparison, layer: int, head: int, names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw a head before, after, and the difference, whose rows and columns are the aligned tokens."""
    moved = compared.difference(layer, head)
    largest = max(float(np.abs(moved).max(initial=0.0)), 1e-9)
    stops = ",".join(diverging(share / 4, theme) for share in range(-4, 5))
    bar = f' −{largest:.2f} to +{largest:.2f}<i style="background:linear-gradient(90deg,{stops})"></i>'
    matrices = [*_sides(compared, layer, head, names, theme), _difference(compared, moved, largest, theme)]
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


def labels(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Name tokens, long ones cut."""
    return tuple(cut(token.text, MOST_LABEL) for token in tokens)


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


def matrix_svg(matrix: DrawnMatrix) -> str:
    """Draw a matrix as SVG with its labels; of many tokens some labels are left out.

    >>> drawn = matrix_svg(DrawnMatrix("x", np.array([[0.5]]), ("<s>",), ("a",), LIGHT.colour))
    >>> "&lt;s&gt;" in drawn, "&lt;s&gt; → a: 0.500" in drawn
    (True, True)
    """
    rows, columns = matrix.rows, matrix.columns
    left, top = (8 + 7.5 * max(map(len, names)) for names in (rows, columns))
    cell = PIXELS / max(len(rows), len(columns))
    step = max(1, math.ceil(1.15 * FONT / cell))
    reached = matrix.weights.size <= MOST_CELLS
    parts = list(_cells(matrix, left, top, cell)) if reached else [_image(matrix.weights, matrix.colour, (left, top, cell))]
    for row in range(0, len(rows), step):
        parts.append(
            f'<text x="{left - 5:.1f}" y="{top + (row + 0.5) * cell + 5:.1f}" class="row">{html.escape(rows[row])}</text>'
        )
    for column in range(0, len(columns), step):
        x, y = left + (column + 0.5) * cell + 5, top - 5
        turned = f'transform="rotate(-90 {x:.1f} {y:.1f})"'
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {turned}>{html.escape(columns[column])}</text>')
    wide, high = left + len(columns) * cell + 2, top + len(rows) * cell + 2
    kind = f'class="cells" data-columns="{len(columns)}" tabindex="0" role="application"' if reached else 'role="img"'
    name = html.escape(f"{matrix.name}: weights")
    return f'<svg viewBox="0 0 {wide:.1f} {high:.1f}" {kind} aria-label="{name}">{"".join(parts)}</svg>'


def _cells(matrix: DrawnMatrix, left: float, top: float, size: float) -> Iterator[str]:
    """Each cell with its title; one that all matrices share says which it is there (`data-at`)."""
    queries, keys = matrix.shared
    for row, column in np.ndindex(*matrix.weights.shape):
        weight = float(matrix.weights[row, column])
        title = html.escape(f"{matrix.rows[row]} → {matrix.columns[column]}: {weight:{matrix.written}}")
        place = f'x="{left + column * size:.1f}" y="{top + row * size:.1f}" width="{size - 0.6:.1f}" height="{size - 0.6:.1f}"'
        at = f' data-at="{queries[row]}.{keys[column]}"' if row in queries and column in keys else ""
        yield f'<rect {place}{at} fill="{matrix.colour(weight)}"><title>{title}</title></rect>'


def _image(weights: Float[np.ndarray, "query key"], colour: Callable[[float], str], place: tuple[float, float, float]) -> str:
    # A look-up for each shade there is, not for each cell.
    shades, which = np.unique(np.round(weights, 3), return_inverse=True)
    table = np.array([rgb(colour(float(shade))) for shade in shades], dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(table[which.reshape(weights.shape)]).save(buffer, "PNG")
    left, top, cell = place
    size = f'x="{left:.1f}" y="{top:.1f}" width="{weights.shape[1] * cell:.1f}" height="{weights.shape[0] * cell:.1f}"'
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<image {size} preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'


def changes_table(changes: Sequence[Change], names: tuple[str, str], *, theme: Theme = LIGHT) -> str:
    """Draw the links that changed most as a table: the weight on both sides, and the change, the largest first."""
    figures = "".join(f'<th scope="col" class="figure">{html.escape(name)}</th>' for name in (*names, "Change"))
    headings = f'<th scope="col">Looks → at</th>{figures}'
    rows = ""
    for change in changes:
        link = " → ".join(f"<bdi>{html.escape(token.text)}</bdi>" for token in (change.query, change.key))
        numbers = (f"{change.was:.2f}", f"{change.now:.2f}", signed(change.now - change.was, "+.2f"))
        figures = "".join(f'<td class="figure">{number}</td>' for number in numbers)
        rows += f"<tr><td>{link}</td>{figures}</tr>"
    table = f'<table class="changes"><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div style="{css_variables(theme)}">{table}</div>'
