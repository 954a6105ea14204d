"""A sentence pair as two columns of words, and the links between them."""

import html

import numpy as np

from attnviz.analysis.head_view import HeadMatrix
from attnviz.core.trace import Token
from attnviz.figures.html import STYLE, Page
from attnviz.figures.theme import FONT, LIGHT, css_variables
from attnviz.figures.token_labels import label

# A link of less weight would be a hair that nobody can follow.
LEAST_WEIGHT = 0.03
ROW_PIXELS = 34


def sentence_pair(matrix: HeadMatrix) -> str:
    """Draw the source on the left, the target on the right, and curves whose width and opacity are the weights, as HTML.

    Every word is escaped and keeps its own direction.

    >>> from attnviz.analysis.head_view import head_matrix
    >>> from attnviz.core.trace import AttentionMap, DenseWeights
    >>> import numpy as np
    >>> a, b = Token("<a>", 0, 3), Token("b", 0, 1)
    >>> attention = AttentionMap("cross", (b,), (a,), DenseWeights((np.ones((1, 1, 1)),)))
    >>> "&lt;a&gt;" in sentence_pair(head_matrix(attention, layer=0, head=0))
    True
    """
    height = ROW_PIXELS * max(len(matrix.queries), len(matrix.keys))
    source = "".join(map(_source, matrix.keys))
    target = "".join(_target(token, float(row.max())) for token, row in zip(matrix.queries, matrix.weights, strict=True))
    frame = f'viewBox="0 0 100 {height}" preserveAspectRatio="none" aria-hidden="true"'
    return (
        f'<div class="pair" dir="ltr" style="{css_variables(LIGHT)};height:{height}px">'
        f'<div class="words source">{source}</div><svg {frame}>{_curves(matrix, height)}</svg>'
        f'<div class="words target">{target}</div></div>'
    )


def pair_page(matrix: HeadMatrix) -> Page:
    """Draw `sentence_pair` as a document of its own."""
    body = f"margin:16px;background:{LIGHT.background};font-family:{FONT}"
    return Page(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Alignment</title>\n'
        f"<style>\n{STYLE}\nbody {{ {body} }}\n</style>\n</head>\n"
        f'<body><div class="markup">{sentence_pair(matrix)}</div></body>\n</html>\n'
    )


def _curves(matrix: HeadMatrix, height: int) -> str:
    n_queries, n_keys = matrix.weights.shape
    drawn = []
    for row, column in np.argwhere(matrix.weights >= LEAST_WEIGHT).tolist():
        weight = float(matrix.weights[row, column])
        left, right = (column + 0.5) * height / n_keys, (row + 0.5) * height / n_queries
        drawn.append(
            f'<path data-row="{row}" data-column="{column}" data-weight="{weight:.4f}" '
            f'd="M0 {left:.1f}C45 {left:.1f} 55 {right:.1f} 100 {right:.1f}" '
            f'stroke-width="{0.75 + 5.25 * weight:.2f}" stroke-opacity="{0.1 + 0.8 * weight:.3f}">'
            f"<title>{label(matrix.queries[row])} ← {label(matrix.keys[column])} {weight:.2f}</title></path>"
        )
    return "".join(drawn)


def _source(token: Token) -> str:
    return f'<span class="word" title="{_title(token)}"><bdi>{label(token)}</bdi></span>'


def _target(token: Token, weight: float) -> str:
    return f'<span class="word" title="{_title(token)}"><bdi>{label(token)}</bdi><em>{weight:.2f}</em></span>'


def _title(token: Token) -> str:
    return html.escape(token.text, quote=True)
