"""Alignment as it emerges: what a model in training looks at, where it should look, and how far it has come, as curves."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from attnviz.figures.theme import HEAD_COLOURS, LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("emergence.css").read_text(encoding="utf-8")
# The first example is drawn large, to be read from the back row.
FIRST_PIXELS, OTHER_PIXELS = 320, 140
LEAST_CELL, MOST_CELL = 16, 34
CURVE_HEIGHT = 64
# A possible link is drawn lighter than a sure one.
POSSIBLE = 0.35


@dataclass(frozen=True, eq=False)
class Held:
    """One example that is not learned from.

    written   what the model writes in each row, after the true tokens before it
    weights   what it looks at; `visible` says where it can look, and None: everywhere
    sure, possible  the true links; a row without any comes from nowhere
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    written: tuple[str, ...]
    weights: Float[np.ndarray, "query key"]
    sure: Bool[np.ndarray, "query key"]
    possible: Bool[np.ndarray, "query key"]


@dataclass(frozen=True)
class Curve:
    """A figure over steps: its name, its present value as it is told, all its values, and the value at the top of its frame."""

    name: str
    reading: str
    values: tuple[tuple[int, float], ...]
    top: float = 1.0


def examples(held: Sequence[Held], *, theme: Theme = LIGHT) -> str:
    """Draw every example as two matrices: what the model looks at, and what is right. Every token is escaped.

    >>> one = np.ones((1, 1), dtype=bool)
    >>> "&lt;a&gt;" in examples([Held(("<a>",), ("b",), ("c",), np.ones((1, 1), dtype=np.float32), one, one)])
    True
    """
    drawn = "".join(_example(each, theme, FIRST_PIXELS if index == 0 else OTHER_PIXELS) for index, each in enumerate(held))
    return f'<div class="examples" style="{_colours(theme)}">{drawn}</div>'


def curves(all_curves: Sequence[Curve], *, steps: int, at: int, theme: Theme = LIGHT) -> str:
    """Draw figures in large type, each over a small curve from step 0 to `steps`; `at` is the step that is looked at."""
    drawn = "".join(_curve(each, steps, at) for each in all_curves)
    return f'<div class="curves" style="{_colours(theme)}">{drawn}</div>'


def _colours(theme: Theme) -> str:
    return f"{css_variables(theme)};--wrong:{HEAD_COLOURS[5]}"


def _curve(curve: Curve, steps: int, at: int) -> str:
    points = " ".join(
        f"{100 * step / max(steps, 1):.2f},{CURVE_HEIGHT * (1 - min(value / curve.top, 1)):.2f}" for step, value in curve.values
    )
    x = 100 * at / max(steps, 1)
    return (
        f'<div class="curve"><strong>{html.escape(curve.reading)}</strong><span>{html.escape(curve.name)}</span>'
        f'<svg viewBox="0 0 100 {CURVE_HEIGHT}" preserveAspectRatio="none" height="{CURVE_HEIGHT}" aria-hidden="true">'
        f'<line x1="{x:.2f}" x2="{x:.2f}" y1="0" y2="{CURVE_HEIGHT}"/><polyline points="{points}"/></svg></div>'
    )


def _example(held: Held, theme: Theme, pixels: int) -> str:
    cell = min(max(pixels // max(len(held.source), len(held.target)), LEAST_CELL), MOST_CELL)
    n_right = sum(one == other for one, other in zip(held.target, held.written, strict=True))
    description = f"Of {''.join(held.source)}, {n_right} of {len(held.target)} tokens right"
    true = np.where(held.sure, 1.0, np.where(held.possible, POSSIBLE, 0.0))
    fills = [[theme.colour(float(value)) for value in row] for row in held.weights]
    rights = [[theme.colour(float(value)) for value in row] for row in true]
    learned = _matrix(held, fills, cell, label=f"what the model looks at. {description}", written=True)
    right = _matrix(held, rights, cell, label="what is right", written=False)
    return f'<div class="example"><div><span>Looks at</span>{learned}</div><div><span>Should look at</span>{right}</div></div>'


def _matrix(held: Held, fills: list[list[str]], cell: int, *, label: str, written: bool) -> str:
    """Draw a matrix with the source above it and the target at its left; what the model writes stands at its right."""
    n_rows, n_columns = len(held.target), len(held.source)
    letters = max(len(token) for token in held.source)
    leaning = letters > 2
    left, top = 26 if written else 4, 8 + 6 * letters if leaning else 22
    width = left + n_columns * cell + (28 if written else 26 if leaning else 4)
    height = top + n_rows * cell + 2
    parts = [
        f'<rect x="{left + column * cell}" y="{top + row * cell}" width="{cell - 1}" height="{cell - 1}" fill="{fill}"/>'
        for row, fills_of in enumerate(fills)
        for column, fill in enumerate(fills_of)
    ]
    for column, token in enumerate(held.source):
        x = left + (column + 0.5) * cell
        turned = f' transform="rotate(-45 {x:.1f} {top - 6})" class="leaning"' if leaning else ' class="above"'
        parts.append(f'<text x="{x:.1f}" y="{top - 6}"{turned}>{_shown(token)}</text>')
    for row, token in enumerate(held.target):
        y = top + row * cell + cell / 2 + 5
        if written:
            parts.append(f'<text x="{left - 8}" y="{y:.1f}" class="before">{_shown(token)}</text>')
            kind = "right" if held.written[row] == token else "wrong"
            parts.append(
                f'<text x="{left + n_columns * cell + 6}" y="{y:.1f}" class="{kind}">{_shown(held.written[row])}</text>'
            )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{html.escape(label)}">{"".join(parts)}</svg>'


_MARKS = {" ": "␣", "</s>": "⏎", "<pad>": "∅", "<unk>": "∅", "<s>": "∅"}


def _shown(token: str) -> str:
    return html.escape(_MARKS.get(token, token))
