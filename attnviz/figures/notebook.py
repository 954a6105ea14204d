"""Pictures of a trace in one line, each of which shows itself where a notebook ends a cell with it.

Where a function is not told which map, layer or head: the last map, its last layer, the mean over its heads, as everywhere
(`attnviz.analysis.head_view`).
"""

from dataclasses import replace
from typing import Literal

import plotly.graph_objects as go

from attnviz.analysis.head_view import View, default_layer, default_map, head_matrix
from attnviz.core.errors import TraceError, described
from attnviz.core.trace import AttentionTrace, check_trace
from attnviz.figures import bertviz_views
from attnviz.figures.explorer import page
from attnviz.figures.heatmap import Look, draw_matrix
from attnviz.figures.html import Page
from attnviz.figures.translate.alignments import pair_page


def heatmap(
    trace: AttentionTrace,
    *,
    layer: int | None = None,
    head: int | None = None,
    kind: str | None = None,
    view: View | None = None,
    look: Look | None = None,
) -> go.Figure:
    """Draw one head of a trace as a Plotly figure.

    Raises:
        TraceError: there is no such map, layer or head, or the view leaves no token.
    """
    attention = default_map(trace, kind)
    matrix = head_matrix(attention, layer=default_layer(attention, layer), head=head, view=view)
    return draw_matrix(matrix, look or Look())


def alignment(trace: AttentionTrace, *, layer: int | None = None, head: int | None = None, words: bool = True) -> Page:
    """Draw the cross-attention as two columns of words with links between them: an HTML page.

    Raises:
        TraceError: the trace has no cross-attention, or no such layer or head.
    """
    check_trace(trace)
    attention = trace.cross
    return pair_page(head_matrix(attention, layer=default_layer(attention, layer), head=head, view=View(words=words)))


def bertviz(trace: AttentionTrace, view: Literal["head", "model"] = "head", *, kind: str | None = None) -> Page:
    """Draw a map in BertViz's head view or model view: an HTML page.

    Raises:
        TraceError: there is no such map, or no such view.
        TooManyTokensError: there is more than BertViz can draw.
    """
    if view not in ("head", "model"):
        raise TraceError(f"BertViz's views are head and model, not {described(view)}.")
    attention = default_map(trace, kind)
    return Page(bertviz_views.head_view(attention) if view == "head" else bertviz_views.model_view(attention))


def explore(trace: AttentionTrace, *, view: View | None = None) -> Page:
    """Open every head of every map in the explorer: an HTML page that needs no network.

    Raises:
        TraceError: the view leaves no token.
        TooLargeError: there are more weights than a file can hold.
    """
    return page(trace, view=view)


def grid(trace: AttentionTrace, *, kind: str | None = None, view: View | None = None) -> Page:
    """Draw all heads of one map as small pictures, the one that is clicked at full size: an HTML page.

    Raises:
        TraceError: there is no such map, or the view leaves no token.
        TooLargeError: there are more weights than a file can hold.
    """
    attention = default_map(trace, kind)
    return page(replace(trace, maps=(attention,)), view=view, opens=(attention.kind, 0, 0))
