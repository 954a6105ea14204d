"""One head as a heatmap: queries down, keys across, the weight as colour and on hover."""

import html
import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.analysis.wording import cut
from attnviz.core.trace import AttentionMap, Token
from attnviz.figures.explorer.marks import NO_MARKS, HeadMarks
from attnviz.figures.theme import FONT, LABEL_SIZE, LIGHT, TICKS, Theme
from attnviz.figures.tokens import label

# A click selects a cell through an invisible marker on it; above this many cells markers, and names kept with every cell,
# would slow the browser down.
CLICKABLE_CELLS = 6_400
# With labels of 14 px a tick every 20 px can be read.
TICK_PIXELS = 20
MAX_CELL_PIXELS = 40
MIN_PICTURE_PIXELS = 120
# A longer word is cut in its label: it would leave no room for the picture. Hovering tells all of it.
MAX_LABEL_LENGTH = 24
# Room for the colour bar under the picture.
BAR_PIXELS = 56


@dataclass(frozen=True)
class Look:
    """How a heatmap is drawn.

    full_scale  colours run from 0 to 1; False: from 0 to the largest weight shown
    selected    (query, key) positions in the matrix, drawn as a crossing row and column
    height      of the whole figure, in pixels; short texts take less
    bar         length of the colour bar, in pixels
    number      what one of its numbers is, in a word
    edited      what of the head is edited: it looks switched off
    """

    theme: Theme = LIGHT
    full_scale: bool = True
    selected: tuple[int, int] | None = None
    height: int = 720
    bar: int = 220
    number: str = "weight"
    edited: HeadMarks = NO_MARKS


def heatmap(
    attention: AttentionMap, *, layer: int, head: int | None, view: View | None = None, look: Look | None = None
) -> go.Figure:
    """Draw the weights of one head (`head=None`: the mean of the layer's heads).

    Masked cells have a colour of their own: no attention was possible there, which is not the same as none given.

    Raises:
        TraceError: there is no such layer or head, or the view leaves no token.

    >>> from attnviz.core.trace import DenseWeights
    >>> tokens = (Token("<s>", 0, 0, special=True), Token("a", 0, 1))
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[1, 0], [0.5, 0.5]]]),)))
    >>> figure = heatmap(attention, layer=0, head=0)
    >>> figure.data[0].z.tolist(), figure.layout.xaxis.ticktext
    ([[1.0, 0.0], [0.5, 0.5]], ('&lt;s&gt;', 'a'))
    """
    return draw_matrix(head_matrix(attention, layer=layer, head=head, view=view), look or Look())


def draw_matrix(matrix: HeadMatrix, look: Look) -> go.Figure:
    """Draw a matrix that has been made already as a heatmap."""
    weights = np.where(matrix.visible, matrix.weights, np.nan)
    highest = 1.0 if look.full_scale else float(max(matrix.weights.max(), 1e-9))
    n_queries, n_keys = matrix.weights.shape
    gap = 1 if max(n_queries, n_keys) <= 64 else 0
    clickable = weights.size <= CLICKABLE_CELLS
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
        hovertemplate=f"{_NAMES if clickable else _AXES}<br>{look.number} <b>%{{z:.4f}}</b><extra></extra>",
        customdata=_hover_names(matrix) if clickable else None,
        colorbar=_colour_bar(look),
    )
    traces: list[go.Heatmap | go.Scatter] = [cells] if matrix.visible.all() else [masked, cells]
    if clickable:
        traces.append(_click_targets(matrix, look.number))
    # All at once: a figure that is changed afterwards takes three times as long.
    return go.Figure(traces, {**_layout(matrix, look), "shapes": [*_edits(matrix, look), *_marks(matrix, look)]})


# What hovering tells, from the names kept with each cell, or from the axes' labels, which weigh nothing.
_NAMES = "%{customdata[0]} → %{customdata[1]}"
_AXES = "%{y} → %{x}"


def _hover_names(matrix: HeadMatrix) -> np.ndarray:
    names = np.empty((*matrix.weights.shape, 2), dtype=object)
    names[..., 0] = np.array([_full_name(token) for token in matrix.queries], dtype=object)[:, None]
    names[..., 1] = np.array([_full_name(token) for token in matrix.keys], dtype=object)[None, :]
    return names


def _full_name(token: Token) -> str:
    piece = f" ({html.escape(token.piece, quote=False)})" if token.piece and token.piece != token.text else ""
    return f"<b>{label(token)}</b>{piece}"


def _click_targets(matrix: HeadMatrix, number: str) -> go.Scatter:
    queries, keys = np.indices(matrix.weights.shape).reshape(2, -1)
    weight_texts = [
        f"{number} <b>{weight:.4f}</b>" if seen else "masked"
        for weight, seen in zip(matrix.weights.flat, matrix.visible.flat, strict=True)
    ]
    return go.Scatter(
        x=keys,
        y=queries,
        mode="markers",
        marker={"symbol": "square", "size": 18, "opacity": 0, "color": "rgba(0,0,0,0)"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=np.column_stack([_hover_names(matrix).reshape(-1, 2), weight_texts]),
        hovertemplate=f"{_NAMES}<br>%{{customdata[2]}}<extra></extra>",
        showlegend=False,
    )


def _colour_bar(look: Look) -> dict:
    theme = look.theme
    return {
        "title": {"text": look.number, "side": "right", "font": {"size": LABEL_SIZE, "color": theme.faint}},
        "tickfont": {"size": LABEL_SIZE, "color": theme.faint},
        "nticks": 3,
        "tickangle": 0,
        "orientation": "h",
        "thickness": 8,
        "outlinewidth": 0,
        "len": look.bar,
        "lenmode": "pixels",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "ypad": 12,
    }


def _layout(matrix: HeadMatrix, look: Look) -> dict:
    n_queries, n_keys = matrix.weights.shape
    theme = look.theme
    # Labels lean at 45 degrees: a letter of 14 px adds about 5 px of height.
    top = min(34 + 5 * max(len(token.text) for token in matrix.keys), 130)
    inner = max(min(n_queries * MAX_CELL_PIXELS, look.height - top - BAR_PIXELS), MIN_PICTURE_PIXELS)
    # Cells are square, so that the longer side sets their size; a figure is taken to be as wide as it may be high.
    step = math.ceil(TICK_PIXELS / min(inner / n_queries, look.height / n_keys))
    row, column = look.selected or (None, None)
    # Square cells: the picture shrinks to fit, towards the top left.
    axis = {
        "showgrid": False,
        "zeroline": False,
        "tickfont": {"size": LABEL_SIZE, "color": theme.text},
        "ticks": "",
        "constrain": "domain",
        **TICKS,
    }
    columns = {"range": [-0.5, n_keys - 0.5], "constraintoward": "left", "side": "top", "tickangle": -45}
    rows = {"range": [n_queries - 0.5, -0.5], "constraintoward": "top", "scaleanchor": "x", "scaleratio": 1, "automargin": True}
    return {
        "height": inner + top + BAR_PIXELS,
        "margin": {"l": 8, "r": 24, "t": top, "b": BAR_PIXELS},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": LABEL_SIZE, "color": theme.text},
        "hoverlabel": {"font": {"family": FONT, "size": 15}, "align": "left"},
        "dragmode": "zoom" if max(n_queries, n_keys) > 40 else False,
        "xaxis": {**axis, **columns, **_ticks(matrix.keys, column, step, theme)},
        "yaxis": {**axis, **rows, **_ticks(matrix.queries, row, step, theme)},
    }


def _ticks(tokens: tuple[Token, ...], selected: int | None, step: int, theme: Theme) -> dict:
    """Label every `step`-th token, and always the selected one, in place of those that it would run into."""
    shown = [index for index in range(0, len(tokens), step) if selected is None or abs(index - selected) >= step]
    if selected is not None:
        shown = sorted([*shown, selected])
    names = [label(replace(tokens[index], text=cut(tokens[index].text, MAX_LABEL_LENGTH))) for index in shown]
    texts = [
        f'<b><span style="color:{theme.accent}">{name}</span></b>' if index == selected else name
        for index, name in zip(shown, names, strict=True)
    ]
    ticks = {"tickmode": "array", "tickvals": shown, "ticktext": texts}
    # What hovering calls the positions that have no tick.
    return ticks | {"hoverformat": "d", "labelalias": {str(index): _full_name(token) for index, token in enumerate(tokens)}}


def _edits(matrix: HeadMatrix, look: Look) -> list[dict]:
    """Fade what is switched off, strike out links that are cut, and ring weights that were typed."""
    edited, (n_queries, n_keys) = look.edited, matrix.weights.shape
    columns = [*edited.columns, *(range(n_keys) if edited.off else ())]
    faded = [(key, -0.5, n_queries - 0.5) for key in columns]
    faded += [(key, query - 0.5, query + 0.5) for query, key, what in edited.cells if what == "cut"]
    fade = {"type": "rect", "fillcolor": look.theme.masked, "opacity": 0.6, "line": {"width": 0}}
    shapes = [{**fade, "x0": key - 0.5, "x1": key + 0.5, "y0": top, "y1": bottom} for key, top, bottom in faded]
    for query, key, what in edited.cells:
        line = {"color": look.theme.text, "width": 1.5}
        # Rows go down: a stroke from the lower left to the upper right.
        corners = {"x0": key - 0.45, "x1": key + 0.45, "y0": query + 0.45, "y1": query - 0.45}
        kind = {"type": "line", "line": line} if what == "cut" else {"type": "rect", "line": {**line, "dash": "dot"}}
        shapes.append({**kind, **corners})
    return shapes


def _marks(matrix: HeadMatrix, look: Look) -> list[dict]:
    """Outline the selected row and column."""
    if look.selected is None:
        return []
    (query, key), (n_queries, n_keys) = look.selected, matrix.weights.shape
    outline = {"type": "rect", "line": {"color": look.theme.accent, "width": 2}, "layer": "above"}
    return [
        {**outline, "x0": -0.5, "x1": n_keys - 0.5, "y0": query - 0.5, "y1": query + 0.5},
        {**outline, "x0": key - 0.5, "x1": key + 0.5, "y0": -0.5, "y1": n_queries - 0.5},
    ]
