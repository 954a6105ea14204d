"""The curve of p(output) while words are masked."""

import plotly.graph_objects as go

from attnviz.analysis.matters.faithfulness import Removals
from attnviz.figures.theme import AGAINST, FONT, FOR, LABEL_SIZE, LIGHT, TICKS, Theme


def deletion_figure(removals: Removals, *, theme: Theme = LIGHT) -> go.Figure:
    """Draw p(output) as the most important words go first, and as the least important ones do.

    The further the two lines are apart, the better the order.

    >>> figure = deletion_figure(Removals((0, 1, 2), (0.9, 0.2, 0.1), (0.9, 0.8, 0.1)))
    >>> [trace.name for trace in figure.data]
    ['most important first', 'least important first']
    """
    lines = (("most important first", removals.most_first, FOR), ("least important first", removals.least_first, AGAINST))
    figure = go.Figure([
        go.Scatter(
            x=removals.gone, y=values, name=name, mode="lines+markers", line={"color": colour, "width": 3},
            hovertemplate="%{x} words masked: %{y:.2f}<extra></extra>",
        )
        for name, values, colour in lines
    ])  # fmt: skip
    axis = {"gridcolor": theme.border, "zeroline": False, "title_font_size": LABEL_SIZE, **TICKS}
    figure.update_layout(
        height=300,
        margin={"l": 56, "r": 8, "t": 52, "b": 48},
        font={"family": FONT, "size": LABEL_SIZE, "color": theme.text},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": "words masked", **axis},
        yaxis={"title": "p(output)", "range": [0, 1], **axis},
    )
    return figure
