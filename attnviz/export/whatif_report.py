"""What if on paper and as a table: a head before, after and the difference, and what every head costs."""

from collections.abc import Iterator

import numpy as np

from attnviz.analysis.whatif_comparison import Comparison, written_cost
from attnviz.analysis.wording import head_name, percent, points
from attnviz.core.trace import AttentionTrace, HeadCosts, RemovalCurve
from attnviz.core.weights import Kind
from attnviz.export import grids_and_matrices
from attnviz.export.csv_table import csv_table
from attnviz.export.paper import COLUMN, FONT, LINE, PADDING, Item, Label, Polyline, Rectangle, Sheet, side_by_side, titled
from attnviz.export.picture import picture
from attnviz.figures.theme import LIGHT, diverging, ink_on
from attnviz.figures.whatif_grids_and_matrices import aligned_labels, heights, largest_of, random_band, removal_lines

COLUMNS = ("layer", "head", "divergence_bits")


def draw_comparison(comparison: Comparison, traces: tuple[AttentionTrace, AttentionTrace], layer: int, head: int) -> Sheet:
    """Draw a head of both traces, and the difference between their aligned tokens."""
    kind = comparison.before.kind
    sides = [picture(trace, kind=kind, layer=layer, head=head) for trace in traces]
    sheets = [titled(grids_and_matrices.draw_matrix(each), f"{each.model}: {each.name}") for each in sides]
    title = f"{head_name(layer, head)}: average change {percent(float(comparison.divergence[layer, head]))}"
    return titled(side_by_side([*sheets, titled(_difference(comparison, layer, head), "Difference")], title), title)


def comparison_csv(comparison: Comparison) -> bytes:
    """Write how far each head has moved, in bits, the one that moved most first."""
    heads = sorted(np.ndindex(*comparison.divergence.shape), key=lambda place: -float(comparison.divergence[place]))
    return csv_table(COLUMNS, ((*head, float(comparison.divergence[head])) for head in heads))


def _difference(comparison: Comparison, layer: int, head: int) -> Sheet:
    moved = comparison.difference(layer, head)
    largest = max(float(np.abs(moved).max(initial=0.0)), 1e-9)
    rows, columns = aligned_labels(comparison)
    room = grids_and_matrices.fit(rows, columns)
    items: list[Item] = []
    for row, column in np.ndindex(*moved.shape):
        x, y, side = room.left + column * room.cell, room.top + row * room.cell, room.cell - room.gap
        change = float(moved[row, column])
        items.append(Rectangle(x, y, side, side, diverging(change / largest), data=(("change", f"{change:.6g}"),)))
    items += grids_and_matrices.axis_labels(room, rows, columns)
    bottom, right = room.top + len(rows) * room.cell, room.left + len(columns) * room.cell
    items.append(Label(room.left, bottom + FONT + PADDING, f"blue {points(-largest)} to orange {points(largest)}"))
    return Sheet("Difference", max(right, room.left + 90.0) + PADDING, bottom + 2 * FONT + 2 * PADDING, tuple(items))


SIDE, WIDE, HIGH, LEFT = 25.0, 160.0, 90.0, 30.0


def draw_costs(costs: HeadCosts, curve: RemovalCurve | None, title: str) -> Sheet:
    """Draw the grids, and the curve where it is known."""
    sheets = [_grid(kind, costs) for kind in costs.costs]
    if curve is not None:
        sheets.append(_curve(curve, costs.unit))
    return titled(side_by_side(sheets, title), title)


def _grid(kind: Kind, costs: HeadCosts) -> Sheet:
    heads, largest = [head for head in costs.ranked if head[0] == kind], largest_of(costs)
    n_layers, n_heads = costs.costs[kind].shape
    side = min(SIDE, (COLUMN * 2 - 20) / n_heads)
    items: list[Item] = []
    for head in heads:
        x, y, colour = 20.0 + head[2] * side, 14.0 + head[1] * side / 2, diverging(costs.of(head) / largest)
        items.append(Rectangle(x, y, side - 0.6, side / 2 - 0.6, colour, data=(("cost", f"{costs.of(head):.6g}"),)))
        if side == SIDE:
            text = written_cost(costs.of(head), largest)
            items.append(Label(x + side / 2, y + side / 4, text, "middle", size=6.0, colour=ink_on(colour)))
    step = max(1, round(FONT * LINE / (side / 2) + 0.49))
    items += [Label(17.0, 14.0 + (layer + 0.5) * side / 2, f"L{layer}", "end") for layer in range(0, n_layers, step)]
    step = max(1, round(2.4 * FONT / side + 0.49))
    items += [Label(20 + (head + 0.5) * side, 8.0, f"H{head}", "middle") for head in range(0, n_heads, step)]
    height = 14.0 + n_layers * side / 2
    unit = "nats" if costs.unit == "nats" else "1 − cosine"
    items.append(Label(20.0, height + 8, f"{kind} attention: cost of each head, {unit}"))
    return Sheet(f"What each head of the {kind} attention costs", max(24.0 + n_heads * side, 190.0), height + 16, tuple(items))


def _curve(curve: RemovalCurve, unit: str) -> Sheet:
    def place(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
        return tuple((LEFT + x * WIDE, 10.0 + y * HIGH) for x, y in points)

    items: list[Item] = []
    for y, text in heights(curve):
        items.append(Polyline(place(((0.0, y), (1.0, y))), LIGHT.border, 0.5))
        items.append(Label(LEFT - PADDING, 10.0 + y * HIGH, text, "end"))
    items.append(Polyline(place(random_band(curve)), "none", 0.0, fill=LIGHT.faint, opacity=0.22))
    lines = removal_lines(curve)
    items += [Polyline(place(points), colour, 1.5) for _, colour, points in lines]
    items += list(_counts(curve))
    bottom = 10.0 + HIGH + 12
    items.append(Label(LEFT, bottom + 9, f"heads off; cost in {unit}; band: {len(curve.random)} random draws"))
    for row, (name, colour, _) in enumerate(lines):
        y = bottom + 9 + (row + 1) * FONT * 1.3
        items += [Polyline(((LEFT, y), (LEFT + 14, y)), colour, 1.5), Label(LEFT + 18, y, name)]
    return Sheet("Cost of switching off many heads", LEFT + WIDE + 12, bottom + 40, tuple(items))


def _counts(curve: RemovalCurve) -> Iterator[Item]:
    last = max(len(curve.counts) - 1, 1)
    for number, count in enumerate(curve.counts):
        yield Label(LEFT + WIDE * number / last, 10.0 + HIGH + 7, str(count), "middle", size=6.0)


def costs_csv(costs: HeadCosts) -> bytes:
    """Write a row for every head, the most costly first."""
    rows = ((*head, costs.of(head), costs.unit) for head in reversed(costs.ranked))
    return csv_table(("kind", "layer", "head", "cost", "unit"), rows)


def curve_csv(curve: RemovalCurve) -> bytes:
    """Write a row for every number of heads: what the least and the most costly cost, and each draw."""
    draws = (f"draw_{number}" for number in range(1, len(curve.random) + 1))
    table = zip(curve.counts, curve.least, curve.most, *curve.random, strict=True)
    rows = ((count, *map(float, costs)) for count, *costs in table)
    return csv_table(("heads_off", "least_costly", "most_costly", *draws), rows)
