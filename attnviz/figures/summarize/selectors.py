"""Selectors side by side on one text; and the share of every head's attention that goes to what was chosen."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from attnviz.analysis.summarize.rouge import Rouge
from attnviz.analysis.wording import head_name
from attnviz.figures.theme import FONT, LABEL_SIZE, LIGHT, TICKS, Theme, css_variables

_MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
CELL_PIXELS = 44


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
    top = "".join(f"<th{' class=figure' if name in names else ''}>{name}</th>" for name in ("Chosen by", *names, "Keeps"))
    # Equal figures are all the best, but nothing is where nothing fits.
    best = (figures >= np.nanmax(figures, axis=0, initial=0.0)) & (figures > 0)
    body = "".join(_row(row, values, own, row.key == chosen) for row, values, own in zip(rows, figures, best, strict=True))
    return f'<div class="scroll" style="{css_variables(theme)}"><table class="ways"><tr>{top}</tr>{body}</table></div>'


def _figures(row: Row) -> tuple[float, ...]:
    if row.score:
        return 100 * row.score.one, 100 * row.score.two, 100 * row.score.longest
    return (np.nan if row.measured is None else row.measured,)


def _row(row: Row, values: Float[np.ndarray, " measure"], best: Bool[np.ndarray, " measure"], chosen: bool) -> str:
    name, sentences, words = map(html.escape, (row.name, row.sentences, row.words))
    cells = f'<td><button data-pick="{row.key}" aria-pressed="{str(chosen).lower()}">{name}</button></td>'
    for value, stands_out in zip(values, best, strict=True):
        kind = "figure best" if stands_out else "figure"
        cells += f'<td class="{kind}">{"–" if np.isnan(value) else f"{value:.1f}"}</td>'
    lines = (f'<p dir="auto" title="{kept}">{kept}</p>' for kept in (sentences, words))
    cells += f"<td>{''.join(lines)}</td>"
    return f'<tr data-pick="{row.key}"{" class=chosen" if chosen else ""}>{cells}</tr>'


def heads_agreement(
    shares: Float[np.ndarray, "layer head"], *, selected: tuple[int, int | None] | None = None, theme: Theme = LIGHT
) -> go.Figure:
    """Draw the share (0 to 1) of each head's attention to words that lands on kept words; layers down. Cells can be clicked."""
    n_heads = shares.shape[1]
    cells = go.Heatmap(
        z=shares,
        zmin=0,
        zmax=1,
        colorscale=theme.plotly_scale,
        xgap=2,
        ygap=2,
        text=[[f"{100 * share:.0f}" for share in row] for row in shares],
        texttemplate="%{text}",
        textfont={"size": LABEL_SIZE},
        showscale=False,
        hoverinfo="skip",
    )
    figure = go.Figure([cells, _targets(shares)])
    if selected is not None:
        layer, head = selected
        left, right = (-0.5, n_heads - 0.5) if head is None else (head - 0.5, head + 0.5)
        figure.add_shape(
            type="rect", x0=left, x1=right, y0=layer - 0.5, y1=layer + 0.5, line={"color": theme.accent, "width": 3}
        )
    _lay_out(figure, shares.shape, theme)
    return figure


def _targets(shares: Float[np.ndarray, "layer head"]) -> go.Scatter:
    """Draw invisible marks that take the clicks, and show on hover what a cell rounds."""
    layers, heads = np.indices(shares.shape).reshape(2, -1)
    return go.Scatter(
        x=heads,
        y=layers,
        mode="markers",
        marker={"symbol": "square", "size": 30, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[head_name(int(layer), int(head)) for layer, head in zip(layers, heads, strict=True)],
        text=[f"{100 * share:.1f}\xa0%" for share in shares.flat],
        hovertemplate="%{customdata}: %{text} to kept words<extra></extra>",
    )


def _lay_out(figure: go.Figure, shape: tuple[int, int], theme: Theme) -> None:
    n_layers, n_heads = shape
    axis = {
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "tickfont": {"size": LABEL_SIZE, "color": theme.text},
        **TICKS,
    }
    figure.update_layout(
        height=n_layers * CELL_PIXELS + 60,
        margin={"l": 36, "r": 8, "t": 30, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": LABEL_SIZE, "color": theme.text},
        dragmode=False,
        xaxis={**axis, "side": "top", "tickmode": "array", "tickvals": list(range(n_heads)),
               "ticktext": [f"H{head}" for head in range(n_heads)], "range": [-0.5, n_heads - 0.5]},
        yaxis={**axis, "tickmode": "array", "tickvals": list(range(n_layers)),
               "ticktext": [f"L{layer}" for layer in range(n_layers)], "range": [n_layers - 0.5, -0.5], "ticks": ""},
    )  # fmt: skip
