"""Lines over a count, drawn as SVG in HTML: what each point is stands in its title."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import signed
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("curve.css").read_text(encoding="utf-8")
Points = tuple[tuple[float, float], ...]


TICKS = 4


@dataclass(frozen=True)
class Range:
    """Which numbers stand at the bottom and at the top of a picture."""

    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> "Range":
        """Span some numbers; where all are one, a little more."""
        known = [float(value) for value in values]
        low, high = min(known), max(known)
        return Range(low, high if high > low else low + 1.0)

    def down(self, values: Iterable[float]) -> tuple[float, ...]:
        """Place numbers from 0, the top, to 1."""
        return tuple(1 - (float(value) - self.low) / (self.high - self.low) for value in values)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Place the lines across, from the top, each with its number: a multiple of 1, 2 or 5 times a power of ten."""
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / TICKS))
        wide = self.high - self.low
        step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if wide / step <= TICKS + 1)
        values = [step * place for place in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        digits = max(0, -math.floor(math.log10(step)))
        return tuple(zip(self.down(values), (signed(value, f".{digits}f") for value in values), strict=True))


def evenly(count: int) -> tuple[float, ...]:
    """Place so many points from 0 to 1: numbers that grow by about the same share stand evenly.

    >>> evenly(3), evenly(1)
    ((0.0, 0.5, 1.0), (0.0,))
    """
    return tuple(place / max(count - 1, 1) for place in range(count))


def band_of(draws: Float[np.ndarray, "draw count"], heights: Range) -> Points:
    """Outline all draws: their largest number from left to right, and back by their smallest."""
    across = evenly(draws.shape[1])
    above = zip(across, heights.down(draws.max(axis=0)), strict=True)
    below = zip(across, heights.down(draws.min(axis=0)), strict=True)
    return (*above, *reversed(tuple(below)))


@dataclass(frozen=True)
class Series:
    """A line: its name, its colour, its points from 0 to 1 (y from the top), and what each point says."""

    name: str
    colour: str
    points: Points
    titles: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axes:
    """What stands around the lines.

    across, up  where numbers stand, from 0 to 1 (up: from the top), and how they are written
    title       what both axes are
    label       what the picture says, in words
    """

    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    title: str
    label: str


def lines_figure(lines: Sequence[Series], axes: Axes, *, band: Points = (), theme: Theme = LIGHT) -> str:
    """Draw lines, and a band behind them; every text is escaped.

    >>> line = Series("a<b", "#000000", ((0.0, 1.0), (1.0, 0.25)), ("none", "all"))
    >>> drawn = lines_figure([line], Axes(((0.0, "0"),), ((1.0, "0"),), "words", "falls"))
    >>> "a&lt;b" in drawn, 'points="0.00,100.00 100.00,25.00"' in drawn, drawn.count('title="')
    (True, True, 2)
    """
    rules = "".join(f'<line class="rule" x1="0" x2="100" y1="{100 * y:.2f}" y2="{100 * y:.2f}"/>' for y, _ in axes.up)
    area = f'<polygon points="{_written(band)}" fill="{theme.faint}"/>' if band else ""
    drawn = "".join(f'<polyline points="{_written(line.points)}" stroke="{line.colour}"/>' for line in lines)
    up = "".join(f'<span class="up" style="top:{100 * y:.2f}%">{html.escape(text)}</span>' for y, text in axes.up)
    across = "".join(
        f'<span class="across{" odd" if place % 2 else ""}" style="left:{100 * x:.2f}%">{html.escape(text)}</span>'
        for place, (x, text) in enumerate(axes.across)
    )
    keys = "".join(f'<span><i style="background:{line.colour}"></i>{html.escape(line.name)}</span>' for line in lines)
    svg = (
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{html.escape(axes.label)}">'
        f"{rules}{area}{drawn}</svg>"
    )
    title = f'<span class="title">{html.escape(axes.title)}</span>'
    body = f'<div class="lines">{svg}{"".join(map(_dots, lines))}{up}{across}{title}</div>'
    return f'<div style="{css_variables(theme)}"><p class="keys">{keys}</p>{body}</div>'


def _dots(line: Series) -> str:
    """Draw the points that can be pointed at."""
    return "".join(
        f'<i style="left:{100 * x:.2f}%;top:{100 * y:.2f}%;background:{line.colour}" title="{html.escape(title)}"></i>'
        for (x, y), title in zip(line.points, line.titles, strict=bool(line.titles))
    )


def _written(points: Points) -> str:
    return " ".join(f"{100 * x:.2f},{100 * y:.2f}" for x, y in points)
