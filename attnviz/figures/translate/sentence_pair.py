"""A sentence pair as two columns of words, and the links between them."""

import html
from dataclasses import dataclass

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.view import HeadMatrix
from attnviz.core.trace import Token
from attnviz.figures.html import STYLE, Page
from attnviz.figures.theme import FONT, LIGHT, Theme, css_variables
from attnviz.figures.tokens import label

# A link of less weight would be a hair that nobody can follow.
LEAST_WEIGHT = 0.03
ROW_PIXELS = 34


@dataclass(frozen=True)
class Columns:
    """How a sentence pair is drawn.

    selected  the row whose links stand out
    hard      links that are drawn as decided; the others fade. None: there are none
    """

    theme: Theme = LIGHT
    selected: int | None = None
    hard: tuple[Link, ...] | None = None


def sentence_pair(matrix: HeadMatrix, look: Columns | None = None) -> str:
    """Draw the source on the left, the target on the right, and curves whose width and opacity are the weights, as HTML.

    Every word is escaped and keeps its own direction. A target word is a button whose `data-pick` is its row.

    >>> from attnviz.analysis.view import head_matrix
    >>> from attnviz.core.trace import AttentionMap, DenseWeights
    >>> import numpy as np
    >>> a, b = Token("<a>", 0, 3), Token("b", 0, 1)
    >>> attention = AttentionMap("cross", (b,), (a,), DenseWeights((np.ones((1, 1, 1)),)))
    >>> "&lt;a&gt;" in sentence_pair(head_matrix(attention, layer=0, head=0))
    True
    """
    look = look or Columns()
    height = ROW_PIXELS * max(len(matrix.queries), len(matrix.keys))
    chosen = int(matrix.weights[look.selected].argmax()) if look.selected is not None else None
    source = "".join(_source(index, token, index == chosen) for index, token in enumerate(matrix.keys))
    target = "".join(
        _target(index, token, float(matrix.weights[index].max()), index == look.selected)
        for index, token in enumerate(matrix.queries)
    )
    frame = f'viewBox="0 0 100 {height}" preserveAspectRatio="none" aria-hidden="true"'
    return (
        f'<div class="pair" dir="ltr" style="{css_variables(look.theme)};height:{height}px">'
        f'<div class="words source">{source}</div><svg {frame}>{_curves(matrix, look, height)}</svg>'
        f'<div class="words target">{target}</div></div>'
    )


def pair_page(matrix: HeadMatrix, look: Columns | None = None) -> Page:
    """Draw `sentence_pair` as a document of its own."""
    theme = look.theme if look else LIGHT
    body = f"margin:16px;background:{theme.background};font-family:{FONT}"
    return Page(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Alignment</title>\n'
        f"<style>\n{STYLE}\nbody {{ {body} }}\n</style>\n</head>\n"
        f'<body><div class="markup">{sentence_pair(matrix, look)}</div></body>\n</html>\n'
    )


def _curves(matrix: HeadMatrix, look: Columns, height: int) -> str:
    n_queries, n_keys = matrix.weights.shape
    hard = {(link.query, link.key) for link in look.hard or ()}
    drawn = []
    for row in range(n_queries):
        for column in range(n_keys):
            weight = float(matrix.weights[row, column])
            if weight < LEAST_WEIGHT and (row, column) not in hard:
                continue
            left, right = (column + 0.5) * height / n_keys, (row + 0.5) * height / n_queries
            kind = ("hard" if (row, column) in hard else "faded") if look.hard is not None else ""
            kind += " selected" if row == look.selected else ""
            drawn.append(
                f'<path class="{kind.strip()}" data-row="{row}" data-column="{column}" data-weight="{weight:.4f}" '
                f'd="M0 {left:.1f}C45 {left:.1f} 55 {right:.1f} 100 {right:.1f}" '
                f'stroke-width="{0.75 + 5.25 * weight:.2f}" stroke-opacity="{0.1 + 0.8 * weight:.3f}">'
                f"<title>{label(matrix.queries[row])} ← {label(matrix.keys[column])} {weight:.2f}</title></path>"
            )
    return "".join(drawn)


def _source(index: int, token: Token, chosen: bool) -> str:
    kind = " chosen" if chosen else ""
    return f'<span class="word{kind}" data-column="{index}" title="{_title(token)}"><bdi>{label(token)}</bdi></span>'


def _target(index: int, token: Token, weight: float, chosen: bool) -> str:
    kind = " chosen" if chosen else ""
    return (
        f'<button class="word{kind}" data-row="{index}" data-pick="{index}" title="{_title(token)}">'
        f"<bdi>{label(token)}</bdi><em>{weight:.2f}</em></button>"
    )


def _title(token: Token) -> str:
    return html.escape(token.text, quote=True)
