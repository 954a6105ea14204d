"""One head as a heatmap: queries down, keys across, the weight as colour and on hover."""

import html
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.figures.theme import FONT, LABEL_SIZE, LIGHT, Theme
from attnviz.trace import AttentionMap, Token

# A click selects a cell through an invisible marker on it; above this many cells markers would slow the browser down.
CLICKABLE_CELLS = 6_400
# With labels of 14 px a tick every 20 px can be read.
TICK_PIXELS = 20
MAX_CELL_PIXELS = 40
# Room for the colour bar under the picture.
BAR_PIXELS = 56


@dataclass(frozen=True)
class Look:
    """How a heatmap is drawn.

    full_scale  colours run from 0 to 1; False: from 0 to the largest weight shown
    selected    (query, key) positions in the matrix, drawn as a crossing row and column
    height      of the whole figure, in pixels; short texts take less
    """

    theme: Theme = LIGHT
    full_scale: bool = True
    selected: tuple[int, int] | None = None
    height: int = 720


def heatmap(
    attention: AttentionMap, *, layer: int, head: int | None, view: View | None = None, look: Look | None = None
) -> go.Figure:
    """The weights of one head (`head=None`: the mean of the layer's heads).

    Masked cells have a colour of their own: no attention was possible there, which is not the same as none given.

    Raises:
        TraceError: there is no such layer or head, or the view leaves no token.
    """
    return draw_matrix(head_matrix(attention, layer=layer, head=head, view=view), look or Look())


def draw_matrix(matrix: HeadMatrix, look: Look) -> go.Figure:
    """The heatmap of a matrix that has been made already."""
    weights = np.where(matrix.visible, matrix.weights, np.nan)
    highest = 1.0 if look.full_scale else float(max(matrix.weights.max(), 1e-9))
    n_queries, n_keys = matrix.weights.shape
    gap = 1 if max(n_queries, n_keys) <= 64 else 0
    masked = go.Heatmap(
        z=np.where(matrix.visible, np.nan, 0.0),
        colorscale=[(0, look.theme.masked), (1, look.theme.masked)],
        showscale=False,
        hoverinfo="skip",
        xgap=gap,
        ygap=gap,
    )
    cells = go.Heatmap(
        z=weights,
        x=list(range(n_keys)),
        y=list(range(n_queries)),
        zmin=0,
        zmax=highest,
        colorscale=look.theme.plotly_scale,
        xgap=gap,
        ygap=gap,
        hoverongaps=False,
        hovertemplate=_HOVER,
        customdata=_hover_names(matrix),
        colorbar=_colour_bar(look.theme),
    )
    figure = go.Figure([cells] if matrix.visible.all() else [masked, cells])
    if weights.size <= CLICKABLE_CELLS:
        figure.add_trace(_click_targets(matrix))
    _lay_out(figure, matrix, look)
    if look.selected is not None:
        _mark(figure, matrix, look)
    return figure


_HOVER = "%{customdata[0]} → %{customdata[1]}<br>weight <b>%{z:.4f}</b><extra></extra>"


def label(token: Token) -> str:
    """A token as a label: as typed, escaped, with white space made visible."""
    shown = token.text.replace("\r\n", "↵").replace("\n", "↵").replace("\t", "⇥")
    return html.escape(shown if shown.strip() else "␣", quote=False)


def _hover_names(matrix: HeadMatrix) -> np.ndarray:
    names = np.empty((*matrix.weights.shape, 2), dtype=object)
    names[..., 0] = np.array([_full_name(token) for token in matrix.queries], dtype=object)[:, None]
    names[..., 1] = np.array([_full_name(token) for token in matrix.keys], dtype=object)[None, :]
    return names


def _full_name(token: Token) -> str:
    piece = f" ({html.escape(token.piece, quote=False)})" if token.piece and token.piece != token.text else ""
    return f"<b>{label(token)}</b>{piece}"


def _click_targets(matrix: HeadMatrix) -> go.Scatter:
    queries, keys = np.indices(matrix.weights.shape).reshape(2, -1)
    return go.Scatter(
        x=keys,
        y=queries,
        mode="markers",
        marker={"symbol": "square", "size": 18, "opacity": 0, "color": "rgba(0,0,0,0)"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=np.column_stack([_hover_names(matrix).reshape(-1, 2), matrix.weights.reshape(-1)]),
        hovertemplate="%{customdata[0]} → %{customdata[1]}<br>weight <b>%{customdata[2]:.4f}</b><extra></extra>",
        showlegend=False,
    )


def _colour_bar(theme: Theme) -> dict:
    return {
        "title": {"text": "weight", "side": "right", "font": {"size": LABEL_SIZE, "color": theme.faint}},
        "tickfont": {"size": LABEL_SIZE, "color": theme.faint},
        "nticks": 6,
        "orientation": "h",
        "thickness": 8,
        "outlinewidth": 0,
        "len": 220,
        "lenmode": "pixels",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "ypad": 12,
    }


def _lay_out(figure: go.Figure, matrix: HeadMatrix, look: Look) -> None:
    n_queries, n_keys = matrix.weights.shape
    theme = look.theme
    # Labels lean at 45 degrees: a letter of 14 px adds about 5 px of height.
    top = min(34 + 5 * max(len(token.text) for token in matrix.keys), 130)
    inner = min(max(n_queries * MAX_CELL_PIXELS, 120), look.height - top - BAR_PIXELS)
    row, column = look.selected or (None, None)
    axis = {"showgrid": False, "zeroline": False, "tickfont": {"size": LABEL_SIZE, "color": theme.text}, "ticks": ""}
    figure.update_layout(
        height=inner + top + BAR_PIXELS,
        margin={"l": 8, "r": 24, "t": top, "b": BAR_PIXELS},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": LABEL_SIZE, "color": theme.text},
        hoverlabel={"font": {"family": FONT, "size": 15}, "align": "left"},
        dragmode="zoom" if max(n_queries, n_keys) > 40 else False,
        xaxis={**axis, **_ticks(matrix.keys, column, inner, theme), "side": "top", "tickangle": -45},
        yaxis={**axis, **_ticks(matrix.queries, row, inner, theme), "automargin": True},
    )
    # Square cells: the picture shrinks to fit, towards the top left.
    figure.update_xaxes(range=[-0.5, n_keys - 0.5], constrain="domain", constraintoward="left")
    figure.update_yaxes(range=[n_queries - 0.5, -0.5], constrain="domain", constraintoward="top", scaleanchor="x", scaleratio=1)


def _ticks(tokens: tuple[Token, ...], selected: int | None, pixels: int, theme: Theme) -> dict:
    """As many labels as can be read; of a dense axis every n-th, and always the selected one."""
    step = max(1, -(-len(tokens) * TICK_PIXELS // pixels))
    shown = [index for index in range(len(tokens)) if index == selected or index % step == 0]
    texts = [
        f'<b><span style="color:{theme.accent}">{label(tokens[index])}</span></b>'
        if index == selected
        else label(tokens[index])
        for index in shown
    ]
    return {"tickmode": "array", "tickvals": shown, "ticktext": texts}


def _mark(figure: go.Figure, matrix: HeadMatrix, look: Look) -> None:
    query, key = look.selected or (0, 0)
    n_queries, n_keys = matrix.weights.shape
    outline = {"type": "rect", "line": {"color": look.theme.accent, "width": 2}, "layer": "above"}
    figure.add_shape(**outline, x0=-0.5, x1=n_keys - 0.5, y0=query - 0.5, y1=query + 0.5)
    figure.add_shape(**outline, x0=key - 0.5, x1=key + 0.5, y0=-0.5, y1=n_queries - 0.5)
