"""One head as a Plotly figure, for Python and notebooks: queries down, keys across, the weight as colour and on hover."""

import html
import math
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from attnviz.analysis.head_view import HeadMatrix, View, colour_limit, head_matrix
from attnviz.analysis.wording import cut
from attnviz.core.errors import ArgumentError, described
from attnviz.core.trace import AttentionMap, Token
from attnviz.figures.html import label
from attnviz.figures.theme import FONT, LABEL_SIZE, LIGHT, Theme

# Names kept with more cells than these would slow the browser down.
NAMED_CELLS = 6_400
# With labels of 14 px a tick every 20 px can be read.
TICK_PIXELS = 20
MAX_CELL_PIXELS = 40
MIN_PICTURE_PIXELS = 120
# A longer word is cut in its label: it would leave no room for the picture. Hovering tells all of it.
MAX_LABEL_LENGTH = 24
# Room for the colour bar under the picture, and its length.
BAR_PIXELS, BAR_LENGTH = 56, 220


@dataclass(frozen=True)
class Look:
    """How a heatmap is drawn.

    full_scale  colours run from 0 to 1; False: from 0 to the largest weight shown; of a long text
                they end at `colour_limit`
    height      of the whole figure, in pixels; short texts take less
    number      what one of its numbers is, in a word
    """

    theme: Theme = LIGHT
    full_scale: bool = True
    height: int = 720
    number: str = "weight"


def heatmap(
    attention: AttentionMap, *, layer: int, head: int | None, view: View | None = None, look: Look | None = None
) -> go.Figure:
    """Draw the weights of one head (`head=None`: the mean of the layer's heads).

    Masked cells have a colour of their own: no attention was possible there, which is not the same as none given.

    Raises:
        TraceError: there is no such layer or head, or the view leaves no token.
        ArgumentError: this is no view, or no look.

    >>> from attnviz.core.trace import DenseWeights
    >>> tokens = (Token("<s>", 0, 0, special=True), Token("a", 0, 1))
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[1, 0], [0.5, 0.5]]]),)))
    >>> figure = heatmap(attention, layer=0, head=0)
    >>> figure.data[0].z.tolist(), figure.layout.xaxis.ticktext
    ([[1.0, 0.0], [0.5, 0.5]], ('&lt;s&gt;', 'a'))
    """
    return draw_matrix(head_matrix(attention, layer=layer, head=head, view=view), look or Look())


def draw_matrix(matrix: HeadMatrix, look: Look) -> go.Figure:
    """Draw a matrix that has been made already as a heatmap.

    Raises:
        ArgumentError: this is no look.
    """
    if not isinstance(look, Look):
        raise ArgumentError(f"A look is one of attnviz.figures.heatmap, such as Look(full_scale=False), not {described(look)}.")
    weights = np.where(matrix.visible, matrix.weights, np.nan)
    largest = float(max(matrix.weights.max(), 1e-9))
    highest = min(1.0 if look.full_scale else largest, colour_limit(matrix) or 1.0)
    n_queries, n_keys = matrix.weights.shape
    gap = 1 if max(n_queries, n_keys) <= 64 else 0
    is_named = weights.size <= NAMED_CELLS
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
        hovertemplate=f"{_NAMES if is_named else _AXES}<br>{look.number} <b>%{{z:.4f}}</b><extra></extra>",
        customdata=_hover_names(matrix) if is_named else None,
        colorbar=_colour_bar(look, highest if highest < largest else None),
    )
    # All at once: a figure that is changed afterwards takes three times as long.
    return go.Figure([cells] if matrix.visible.all() else [masked, cells], _layout(matrix, look))


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


def _colour_bar(look: Look, limit: float | None) -> dict:
    """Describe the bar of colours; larger weights than the limit, if there is one, have its strongest colour."""
    theme = look.theme
    ticks = {"nticks": 3} if limit is None else {"tickvals": [0, limit], "ticktext": ["0", f"{limit:.2g} or more"]}
    return {
        **ticks,
        "title": {"text": look.number, "side": "right", "font": {"size": LABEL_SIZE, "color": theme.faint}},
        "tickfont": {"size": LABEL_SIZE, "color": theme.faint},
        "tickangle": 0,
        "orientation": "h",
        "thickness": 8,
        "outlinewidth": 0,
        "len": BAR_LENGTH,
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
    # Square cells: the picture shrinks to fit, towards the top left.
    axis = {
        "showgrid": False,
        "zeroline": False,
        "tickfont": {"size": LABEL_SIZE, "color": theme.text},
        "ticks": "",
        "constrain": "domain",
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
        "xaxis": {**axis, **columns, **_ticks(matrix.keys, step)},
        "yaxis": {**axis, **rows, **_ticks(matrix.queries, step)},
    }


def _ticks(tokens: tuple[Token, ...], step: int) -> dict:
    """Label every `step`-th token."""
    shown = list(range(0, len(tokens), step))
    names = [label(replace(tokens[index], text=cut(tokens[index].text, MAX_LABEL_LENGTH))) for index in shown]
    ticks = {"tickmode": "array", "tickvals": shown, "ticktext": names}
    # What hovering calls the positions that have no tick.
    return ticks | {"hoverformat": "d", "labelalias": {str(index): _full_name(token) for index, token in enumerate(tokens)}}
