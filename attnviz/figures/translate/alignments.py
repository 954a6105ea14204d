"""The alignments of several translators as one picture: one of them large, the others small beside it, as bytes.

The package is laid out as that of the explorer (attnviz.figures.explorer.overview): a header, and for each model a chunk with
its weights as float32, little-endian, ordered query, key; NaN is masked.
"""

import functools
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.head_view import HeadMatrix
from attnviz.core.trace import Token
from attnviz.figures.explorer.overview import NO_MARKS, HeadMarks, pack_chunks
from attnviz.figures.explorer.script import style, themes
from attnviz.figures.html import STYLE as MARKUP_STYLE
from attnviz.figures.html import Page, bundle, direction, label
from attnviz.figures.theme import FONT, LIGHT, css_variables
from attnviz.text.words import visible_text

_FOLDER = Path(__file__).parent
STYLE = style(_FOLDER / "alignments.css")


@dataclass(frozen=True)
class WrittenToken:
    """One token as it was written, p of it, and the likeliest pieces there, best first, with theirs.

    step   which token of the translation it is
    open   which of the pieces can be chosen to go on from; padding and the unknown mark cannot
    fixed  a person chose it
    """

    step: int
    token: Token
    probability: float
    alternatives: tuple[tuple[str, float], ...]
    open: tuple[bool, ...]
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class Aligned:
    """One model's translation and its alignment.

    slot     the number of the model on its page, from 1
    head     the name of the head that is drawn; empty for a model of one
    place    its layer, and its number or None for the mean; `where` says it in words
    shape    how many layers the model has, and heads a layer
    number   what one of its numbers is, in a word
    marks    what of the head is edited
    unlike   where the translation differs from those of the others, as (start, end)
    choices  what each row's tokens were, and could have been
    cell     the chosen row and column
    links    the links that are drawn as decided; None: there are none
    """

    slot: int
    name: str
    head: str
    translation: str
    matrix: HeadMatrix
    choices: tuple[tuple[WrittenToken, ...], ...]
    cell: tuple[int, int]
    unlike: tuple[tuple[int, int], ...] = ()
    links: tuple[Link, ...] | None = None
    number: str = "weight"
    marks: HeadMarks = NO_MARKS
    place: tuple[int, int | None] = (0, 0)
    shape: tuple[int, int] = (1, 1)
    where: str = ""


@functools.cache
def script() -> str:
    """Join the whole script to one ES module, with what it shares with the explorer's."""
    return bundle(_FOLDER / "streamlit.js", {"themes.js": themes()})


def alignments(models: Sequence[Aligned], **settings: object) -> tuple[str, bytes]:
    """Pack the alignments, and name them by their content.

    `settings` say what is looked at: the slot of the large one (`hero`), whether its choices are `open`, for each model with
    several heads which of them give most to the chosen link (`ranked`), …
    """
    chunks = {str(each.slot): _weights(each.matrix) for each in models}
    described = [_described(each) for each in models]
    name = hashlib.blake2b(pack_chunks({"models": described}, chunks), digest_size=12).hexdigest()
    cells = {each.slot: list(each.cell) for each in models}
    return name, pack_chunks({"name": name, "models": described, "cells": cells, **settings}, chunks)


def _weights(matrix: HeadMatrix) -> bytes:
    return np.where(matrix.visible, matrix.weights, np.float32(np.nan)).astype("<f4").tobytes()


def _described(model: Aligned) -> dict[str, object]:
    matrix = model.matrix
    return {
        "slot": model.slot,
        "name": model.name,
        "head": model.head,
        "number": model.number,
        "off": model.marks.off,
        "edited": [list(cell) for cell in model.marks.cells],
        "hidden": list(model.marks.columns),
        "place": model.place,
        "shape": model.shape,
        "where": model.where,
        "parts": sentence_parts(model.translation, matrix.queries, model.unlike),
        "queries": [_token(token) for token in matrix.queries],
        "keys": [_token(token) for token in matrix.keys],
        "directions": [direction(matrix.queries), direction(matrix.keys)],
        # Of a click Python is told the places in the map, which the same view of its tokens shows at these rows and columns.
        "rows": matrix.rows,
        "columns": matrix.columns,
        "links": None if model.links is None else [[link.query, link.key] for link in model.links],
        "choices": [[_choice(choice) for choice in choices] for choices in model.choices],
    }


def _token(token: Token) -> list[object]:
    return [visible_text(token.text), int(token.special), token.start, token.end]


def _choice(choice: WrittenToken) -> dict[str, object]:
    offered = zip(choice.alternatives, choice.open, strict=True)
    return {
        "step": choice.step,
        "text": visible_text(choice.token.text),
        "p": round(choice.probability, 4),
        "fixed": choice.fixed,
        "alternatives": [[visible_text(name.replace("▁", " ").strip()), round(p, 4), can] for (name, p), can in offered],
    }


def sentence_parts(text: str, tokens: Sequence[Token], unlike: Sequence[tuple[int, int]]) -> list[tuple[str, int | None, bool]]:
    """Cut a sentence where its tokens begin and end: each part with the row of its token, and whether it differs from others'.

    >>> cat, sat = Token("cat", 0, 3), Token("sat", 4, 7)
    >>> sentence_parts("cat sat", [cat, sat], [(4, 7)])
    [('cat', 0, False), (' ', None, False), ('sat', 1, True)]
    """

    def differs(start: int, end: int) -> bool:
        return any(first < end and start < last for first, last in unlike)

    parts: list[tuple[str, int | None, bool]] = []
    at = 0
    for row, token in enumerate(tokens):
        # Characters that several tokens cover, such as those of a split emoji, stand once.
        start, end = max(token.start, at), min(token.end, len(text))
        if token.special or end <= start:
            continue
        if start > at:
            parts.append((text[at:start], None, differs(at, start)))
        parts.append((text[start:end], row, differs(start, end)))
        at = end
    # What a limit cut off has no row where rows are named after what is read.
    return [*parts, (text[at:], None, differs(at, len(text)))] if at < len(text) else parts


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
        f"<style>\n{MARKUP_STYLE}\nbody {{ {body} }}\n</style>\n</head>\n"
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
