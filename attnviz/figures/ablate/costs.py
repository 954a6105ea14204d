"""What each head costs: a grid of layers and heads, or one list of all heads, the most costly first."""

from pathlib import Path

from attnviz.analysis.head_costs import name_of, written_cost
from attnviz.analysis.wording import head_name
from attnviz.core.kinds import Kind
from attnviz.core.shares import Head, HeadCosts
from attnviz.figures.diverging import diverging
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on

STYLE = Path(__file__).with_name("ablate.css").read_text(encoding="utf-8")


def cost_grid(costs: HeadCosts, *, chosen: Head | None = None, ordered: bool = False, theme: Theme = LIGHT) -> str:
    """Draw every head as a button (`data-pick` is "kind.layer.head"), the redder the more the output misses it.

    All kinds have one scale, up to the largest cost; blue is a head without which the output is likelier.

    >>> import numpy as np
    >>> drawn = cost_grid(HeadCosts("nats", -2.0, {"cross": np.array([[0.5, -0.1]])}), chosen=("cross", 0, 1))
    >>> 'data-pick="cross.0.0"' in drawn, ">.500<" in drawn, ">−.100<" in drawn, drawn.count('aria-pressed="true"')
    (True, True, True, 1)
    """
    largest = largest_of(costs)
    if ordered:
        cells = "".join(_cell(head, costs, largest, chosen, theme) for head in reversed(costs.ranked))
        body = f'<div class="costs list">{cells}</div>'
    else:
        body = "".join(_of_kind(kind, costs, largest, chosen, theme) for kind in costs.costs)
    # So that a cell has room for its figure.
    least = 60 + 36 * max(each.shape[1] for each in costs.costs.values())
    return f'<div class="ablation" style="{css_variables(theme)};--least:{least}px">{body}{_scale(costs, largest, theme)}</div>'


def largest_of(costs: HeadCosts) -> float:
    """The number of the strongest colour: the largest cost, or gain."""
    return max(abs(costs.of(head)) for head in costs.ranked) or 1.0


def _of_kind(kind: Kind, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> str:
    mine = [head for head in costs.ranked if head[0] == kind]
    n_layers, n_heads = costs.costs[kind].shape
    title = f'<p class="kind">{kind}</p>' if len(costs.costs) > 1 else ""
    parts = ['<span class="axis"></span>', *(f'<span class="axis">H{head}</span>' for head in range(n_heads))]
    for layer in range(n_layers):
        parts.append(f'<span class="axis">L{layer}</span>')
        parts += [_cell(head, costs, largest, chosen, theme) for head in sorted(mine) if head[1] == layer]
    return f'<div>{title}<div class="costs" style="--heads:{n_heads}">{"".join(parts)}</div></div>'


def _cell(head: Head, costs: HeadCosts, largest: float, chosen: Head | None, theme: Theme) -> str:
    cost = costs.of(head)
    colour, figure = diverging(cost / largest, theme), written_cost(cost, largest)
    short = figure.replace("0.", ".", 1)
    kind, layer, number = head
    return (
        f'<button class="head" data-pick="{kind}.{layer}.{number}" aria-pressed="{str(head == chosen).lower()}" '
        f'title="{name_of(head, costs)}: {figure}" style="background:{colour};color:{ink_on(colour)}">'
        f"<b>{name_of(head, costs) if len(costs.costs) > 1 else head_name(layer, number)}</b> <span>{short}</span></button>"
    )


def _scale(costs: HeadCosts, largest: float, theme: Theme) -> str:
    ends = [f"{sign}{written_cost(largest, largest)}" for sign in ("−", "+")]
    stops = ",".join(diverging(share / 4, theme) for share in range(-4, 5))
    unit = "Δ ln p, nats" if costs.unit == "nats" else "1 − cosine"
    bar = f'<i style="background:linear-gradient(90deg,{stops})"></i>'
    return f'<p class="scale">likelier without it {ends[0]} {bar} {ends[1]} missed · {unit}</p>'
