"""The cost of switching off more and more heads: the least costly first, the most costly first, and random ones."""

import math
from collections.abc import Iterable

from attnviz.analysis.whatif.cost_words import describe_curve
from attnviz.analysis.wording import plain, signed
from attnviz.core.shares import RemovalCurve
from attnviz.figures.curve import Axes, Points, Series, lines_figure
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme

TICKS = 4


def removal_lines(curve: RemovalCurve, theme: Theme = LIGHT) -> tuple[tuple[str, str, Points], ...]:
    """List the lines of the picture: name, colour, and points from 0 to 1, y from the top."""
    means = curve.random.mean(axis=0)
    lines = (
        ("most important first", FOR, curve.most),
        ("random order", theme.faint, means),
        ("least important first", AGAINST, curve.least),
    )
    return tuple((name, colour, tuple(zip(_across(curve), _down(curve, costs), strict=True))) for name, colour, costs in lines)


def random_band(curve: RemovalCurve) -> Points:
    """The outline of all random draws: their largest cost from left to right, and back by their smallest."""
    across = _across(curve)
    above = zip(across, _down(curve, curve.random.max(axis=0)), strict=True)
    below = zip(across, _down(curve, curve.random.min(axis=0)), strict=True)
    return (*above, *reversed(tuple(below)))


def heights(curve: RemovalCurve) -> tuple[tuple[float, str], ...]:
    """Where lines across stand, from the top, and which cost each is: multiples of 1, 2 or 5 times a power of ten."""
    low, high = _range(curve)
    power = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if (high - low) / step <= TICKS + 1)
    costs = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    digits = max(0, -math.floor(math.log10(step)))
    return tuple(zip(_down(curve, costs), (signed(cost, f".{digits}f") for cost in costs), strict=True))


def removal_figure(curve: RemovalCurve, unit: str, *, theme: Theme = LIGHT) -> str:
    """Draw the curve as HTML around an SVG. Numbers of heads stand evenly: each is about the same share more than the last."""
    values = (curve.most, curve.random.mean(axis=0), curve.least)
    lines = [
        Series(name, colour, points, tuple(_title(*each) for each in zip(curve.counts, costs, strict=True)))
        for (name, colour, points), costs in zip(removal_lines(curve, theme), values, strict=True)
    ]
    across = tuple((x, str(count)) for x, count in zip(_across(curve), curve.counts, strict=True))
    title = f"number of heads off · up: {unit} · band: {len(curve.random)} random orders"
    axes = Axes(across, heights(curve), title, plain(describe_curve(curve)))
    return lines_figure(lines, axes, band=random_band(curve), theme=theme)


def _title(count: int, cost: float) -> str:
    return f"{count} heads off: {signed(float(cost), '.2f')}"


def _range(curve: RemovalCurve) -> tuple[float, float]:
    every = [float(edge) for costs in (curve.least, curve.most, curve.random) for edge in (costs.min(), costs.max())]
    low, high = min(0.0, *every), max(every)
    return low, high if high > low else low + 1.0


def _across(curve: RemovalCurve) -> tuple[float, ...]:
    return tuple(place / max(len(curve.counts) - 1, 1) for place in range(len(curve.counts)))


def _down(curve: RemovalCurve, costs: Iterable[float]) -> tuple[float, ...]:
    low, high = _range(curve)
    return tuple(1 - (float(cost) - low) / (high - low) for cost in costs)
