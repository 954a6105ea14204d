"""Ways to choose from one text side by side; and how much of every head's attention goes to what was chosen."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.analysis.summarize.rouge import Rouge
from attnviz.analysis.wording import head_name
from attnviz.figures.theme import FONT, LABEL_SIZE, LIGHT, Theme, css_variables

_MEASURES = ("ROUGE-1", "ROUGE-2", "ROUGE-L")
CELL_PIXELS = 44


@dataclass(frozen=True)
class Row:
    """A way and what it keeps; `score`: ROUGE of its sentences against the reference that a person gave, if one did."""

    name: str
    sentences: str
    words: str
    score: Rouge | None = None


def ways_table(rows: Sequence[Row], *, chosen: str = "", theme: Theme = LIGHT) -> str:
    """Draw a table: a row a selector, with the sentences and under them the words that it keeps; the best figures stand out.

    >>> table = ways_table([Row("First", "A<b.", "A", Rouge(0.5, 0.25, 0.5)), Row("Random", "C.", "C", Rouge(0.5, 0.0, 0.25))])
    >>> "A&lt;b." in table, table.count("best")
    (True, 4)
    """
    scored = any(row.score for row in rows)
    heads = ["Chosen by", "Sentences kept, and words", *(_MEASURES if scored else ())]
    top = "".join(f"<th{' class=figure' if name in _MEASURES else ''}>{name}</th>" for name in heads)
    best = np.max([_figures(row) for row in rows], axis=0) if scored else None
    body = "".join(_row(row, best, row.name == chosen) for row in rows)
    colours = css_variables(theme)
    return f'<div class="scroll" style="{colours}"><table class="ways"><tr>{top}</tr>{body}</table></div>'


def _figures(row: Row) -> tuple[float, float, float]:
    return (row.score.one, row.score.two, row.score.longest) if row.score else (0.0, 0.0, 0.0)


def _row(row: Row, best: Float[np.ndarray, " measure"] | None, chosen: bool) -> str:
    cells = f"<td>{html.escape(row.name)}</td>"
    cells += f'<td><p dir="auto">{html.escape(row.sentences)}</p><p dir="auto">{html.escape(row.words)}</p></td>'
    if best is not None:
        for value, highest in zip(_figures(row), best, strict=True):
            # Equal figures are all the best, but nothing is where nothing fits.
            kind = "figure best" if value >= highest > 0 else "figure"
            cells += f'<td class="{kind}">{100 * value:.1f}</td>'
    return f"<tr{' class=chosen' if chosen else ''}>{cells}</tr>"


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
        text=[f"{share:.1%}" for share in shares.flat],
        hovertemplate="%{customdata}: %{text} to kept words<extra></extra>",
    )


def _lay_out(figure: go.Figure, shape: tuple[int, int], theme: Theme) -> None:
    n_layers, n_heads = shape
    axis = {"showgrid": False, "zeroline": False, "fixedrange": True, "tickfont": {"size": LABEL_SIZE, "color": theme.text}}
    figure.update_layout(
        height=n_layers * CELL_PIXELS + 60,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": LABEL_SIZE, "color": theme.text},
        dragmode=False,
        xaxis={**axis, "side": "top", "tickmode": "array", "tickvals": list(range(n_heads)),
               "ticktext": [f"H{head}" for head in range(n_heads)], "range": [-0.5, n_heads - 0.5]},
        yaxis={**axis, "tickmode": "array", "tickvals": list(range(n_layers)),
               "ticktext": [f"L{layer}" for layer in range(n_layers)], "range": [n_layers - 0.5, -0.5], "automargin": True,
               "ticks": ""},
    )  # fmt: skip
