"""Selectors side by side on one text; and the share of every head's attention that goes to what was chosen."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.summarize.rouge import Rouge
from attnviz.analysis.wording import head_name
from attnviz.figures.head_grid import HeadCell, head_grid
from attnviz.figures.theme import LIGHT, Theme, css_variables

_MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")


@dataclass(frozen=True)
class Row:
    """A selector and what it keeps; a click on it picks `key`.

    score     ROUGE of its sentences against the reference that a person gave, if one did
    measured  its ROUGE-1 on texts held out of training, in percent, where it was measured
    """

    key: str
    name: str
    sentences: str
    words: str
    score: Rouge | None = None
    measured: float | None = None


def selectors_table(rows: Sequence[Row], *, chosen: str = "", theme: Theme = LIGHT) -> str:
    """Draw a table: a row a selector, with its figures and the sentences and words it keeps; the best figures stand out.

    Figures are those against the reference, or else the measured, or none. `chosen` is the key of the row shown large.

    >>> rows = [Row("a", "A", "A<b.", "A", Rouge(0.5, 0.25, 0.5)), Row("c", "C", "C.", "C", Rouge(0.5, 0.0, 0.25))]
    >>> table = selectors_table(rows)
    >>> "A&lt;b." in table, table.count("best")
    (True, 4)
    """
    figures = np.array([_figures(row) for row in rows], dtype=float)
    if np.isnan(figures).all():
        figures = figures[:, :0]
    names = _MEASURES[: figures.shape[1]]
    top = "".join(f"<th{' class=figure' if name in names else ''}>{name}</th>" for name in ("Choose by", *names, "Keeps"))
    # Equal figures are all the best, but nothing is where nothing fits.
    best = (figures >= np.nanmax(figures, axis=0, initial=0.0)) & (figures > 0)
    large = next((row for row in rows if row.key == chosen), None)
    body = "".join(_row(row, values, own, large) for row, values, own in zip(rows, figures, best, strict=True))
    return f'<div class="scroll" style="{css_variables(theme)}"><table class="ways"><tr>{top}</tr>{body}</table></div>'


def _figures(row: Row) -> tuple[float, ...]:
    if row.score:
        return 100 * row.score.one, 100 * row.score.two, 100 * row.score.longest
    return (np.nan if row.measured is None else row.measured,)


def difference(row: Row, large: Row | None) -> tuple[str, str]:
    """Say what a row keeps: of another than the one shown large, where it differs from that one."""
    if large is None or row is large:
        return row.sentences, row.words
    more, less = (
        [word for word in one.split() if word not in other.split()]
        for one, other in ((row.words, large.words), (large.words, row.words))
    )
    words = f"Also: {' '.join(more)}" if more else f"Without: {' '.join(less)}" if less else "The same words"
    return "The same sentences" if row.sentences == large.sentences else row.sentences, words


def _row(row: Row, values: Float[np.ndarray, " measure"], best: Bool[np.ndarray, " measure"], large: Row | None) -> str:
    name, chosen = html.escape(row.name), row is large
    cells = f'<td><button data-pick="{row.key}" aria-pressed="{str(chosen).lower()}">{name}</button></td>'
    for value, stands_out in zip(values, best, strict=True):
        kind = "figure best" if stands_out else "figure"
        cells += f'<td class="{kind}">{"–" if np.isnan(value) else f"{value:.1f}"}</td>'
    lines = (
        f'<p dir="auto" title="{html.escape(kept)}">{html.escape(line)}</p>'
        for kept, line in zip((row.sentences, row.words), difference(row, large), strict=True)
    )
    cells += f"<td>{''.join(lines)}</td>"
    return f'<tr data-pick="{row.key}"{" class=chosen" if chosen else ""}>{cells}</tr>'


def heads_agreement(
    shares: Float[np.ndarray, "layer head"], *, selected: tuple[int, int | None] | None = None, theme: Theme = LIGHT
) -> str:
    """Draw the share (0 to 1) of each head's attention to words that lands on kept words, as a grid of buttons.

    `data-pick` is "layer.head"; `selected` has no head where it is the mean of a layer.

    >>> heads_agreement(np.array([[0.254, 1.0]]), selected=(0, 1)).count('aria-pressed="true"')
    1
    """

    def cell(layer: int, head: int) -> HeadCell:
        share = float(shares[layer, head])
        title = f"{head_name(layer, head)}: {100 * share:.1f}\xa0% to kept words"
        chosen = selected in ((layer, head), (layer, None))
        return HeadCell(f"{layer}.{head}", f"{100 * share:.0f}", theme.colour(share), title, chosen)

    return f'<div class="percents" style="{css_variables(theme)}">{head_grid(shares.shape, cell)}</div>'
