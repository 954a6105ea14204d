"""A head that is compared, on paper: before, after and the difference; and as a table."""

import numpy as np

from attnviz.analysis.whatif.comparison import Comparison
from attnviz.analysis.wording import head_name, percent, points
from attnviz.core.trace import AttentionTrace
from attnviz.export import matrix
from attnviz.export.csv_table import NumberCell, csv_table
from attnviz.export.picture import picture
from attnviz.export.sheet import FONT, PADDING, Item, Label, Rectangle, Sheet, printable, side_by_side, titled
from attnviz.figures.theme import diverging
from attnviz.figures.whatif.matrices import aligned_labels

COLUMNS = ("layer", "head", "divergence_bits")


def draw_comparison(comparison: Comparison, traces: tuple[AttentionTrace, AttentionTrace], layer: int, head: int) -> Sheet:
    """Draw a head of both traces, and the difference between their aligned tokens."""
    kind = comparison.before.kind
    sides = [picture(trace, kind=kind, layer=layer, head=head) for trace in traces]
    sheets = [titled(matrix.draw_matrix(each), f"{each.model}: {each.name}") for each in sides]
    title = f"{head_name(layer, head)}: average change {percent(float(comparison.divergence[layer, head]))}"
    return titled(side_by_side([*sheets, titled(_difference(comparison, layer, head), "Difference")], title), title)


def comparison_csv(comparison: Comparison) -> bytes:
    """Write how far each head has moved, in bits, the one that moved most first."""
    heads = sorted(np.ndindex(*comparison.divergence.shape), key=lambda place: -float(comparison.divergence[place]))
    return csv_table(COLUMNS, ((*head, NumberCell(float(comparison.divergence[head]))) for head in heads))


def _difference(comparison: Comparison, layer: int, head: int) -> Sheet:
    moved = comparison.difference(layer, head)
    largest = max(float(np.abs(moved).max(initial=0.0)), 1e-9)
    rows, columns = ([printable(text) for text in texts] for texts in aligned_labels(comparison))
    room = matrix.fit(rows, columns)
    items: list[Item] = []
    for row, column in np.ndindex(*moved.shape):
        x, y, side = room.left + column * room.cell, room.top + row * room.cell, room.cell - room.gap
        change = float(moved[row, column])
        items.append(Rectangle(x, y, side, side, diverging(change / largest), data=(("change", f"{change:.6g}"),)))
    items += matrix.axis_labels(room, rows, columns)
    bottom, right = room.top + len(rows) * room.cell, room.left + len(columns) * room.cell
    items.append(Label(room.left, bottom + FONT + PADDING, f"blue {points(-largest)} to red {points(largest)}"))
    return Sheet("Difference", max(right, room.left + 90.0) + PADDING, bottom + 2 * FONT + 2 * PADDING, tuple(items))
