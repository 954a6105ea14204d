"""What each head costs: a grid of layers and heads, or one list of all heads, the most costly first."""

from pathlib import Path

from attnviz.analysis.whatif.cost_words import name_of, written_cost
from attnviz.core.arrays import Kind
from attnviz.core.shares import Head, HeadCosts
from attnviz.figures.head_grid import STYLE as GRID
from attnviz.figures.head_grid import HeadCell, head_button, head_grid, least_width
from attnviz.figures.theme import LIGHT, Theme, css_variables, diverging

STYLE = GRID + Path(__file__).with_name("whatif.css").read_text(encoding="utf-8")


def cost_grid(costs: HeadCosts, *, chosen: Head | None = None, ordered: bool = False, theme: Theme = LIGHT) -> str:
    """Draw every head as a button (`data-pick` is "kind.layer.head"), the redder the more it costs.

    All kinds have one scale, up to the largest cost; blue is a head without which the output is likelier.

    >>> import numpy as np
    >>> drawn = cost_grid(HeadCosts("nats", -2.0, {"cross": np.array([[0.5, -0.1]])}), chosen=("cross", 0, 1))
    >>> 'data-pick="cross.0.0"' in drawn, ">.500<" in drawn, ">−.100<" in drawn, drawn.count('aria-pressed="true"')
    (True, True, True, 1)
    """
    largest = largest_of(costs)
    if ordered:
        cells = "".join(head_button(_cell(head, costs, largest, chosen, theme)) for head in reversed(costs.ranked))
        body = f'<div class="costs list">{cells}</div>'
    else:
        body = "".join(_of_kind(kind, costs, largest, chosen, theme) for kind in costs.costs)
    least = least_width(max(each.shape[1] for each in costs.costs.values()))
    return f'<div class="ablation" style="{css_variables(theme)};--least:{least}px">{body}{_scale(costs, largest, theme)}</div>'


def largest_of(costs: HeadCosts) -> float:
    """Find the number of the strongest colour: the largest cost, or gain."""
    return max(abs(costs.of(head)) for head in costs.ranked) or 1.0


def _of_kind(kind: Kind, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> str:
    title = f'<p class="kind">{kind}</p>' if len(costs.costs) > 1 else ""
    heads = set(costs.ranked)

    def cell(layer: int, number: int) -> HeadCell | None:
        head = (kind, layer, number)
        return _cell(head, costs, largest, chosen, theme) if head in heads else None

    grid = head_grid(costs.costs[kind].shape, cell)
    return f"<div>{title}{grid}</div>"


def _cell(head: Head, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> HeadCell:
    cost, name = costs.of(head), name_of(head, costs)
    figure = written_cost(cost, largest)
    colour = diverging(cost / largest, theme)
    return HeadCell(".".join(map(str, head)), figure.replace("0.", ".", 1), colour, f"{name}: {figure}", head == chosen, name)


def _scale(costs: HeadCosts, largest: float, theme: Theme) -> str:
    most, can_gain = written_cost(largest, largest), costs.unit == "nats"
    # Final vectors change or stay: no head is one without which they change less than not at all.
    stops = ",".join(diverging(share / 4, theme) for share in range(-4 if can_gain else 0, 5))
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    ends = (f"likelier without −{most}", f"+{most} less likely without") if can_gain else ("0", f"{most} change")
    return f'<p class="scale"><span>{ends[0]} {bar} {ends[1]}</span></p>'
