"""The alignments of several translators as one picture, one large and the others small beside it; and a search as a tree.

The alignments go as bytes, in a package that is laid out as that of the explorer (attnviz.figures.explorer.overview): a header,
and for each model a chunk with its weights as float32, little-endian, ordered query, key; NaN is masked.
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
from attnviz.analysis.wording import NUMBERS, cut, signed
from attnviz.core.trace import Token
from attnviz.core.weights import Quantity
from attnviz.figures.explorer.exported_file import style, themes
from attnviz.figures.explorer.overview import NO_MARKS, HeadMarks, pack_chunks
from attnviz.figures.html import STYLE as MARKUP_STYLE
from attnviz.figures.html import Page, bundle, direction, label
from attnviz.figures.theme import FONT, LIGHT, Theme, css_variables
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

    slot        the number of the model on its page, from 1
    place       the layer of the head that is drawn, and its number or None for the mean
    shape       how many layers the model has, and heads a layer
    is_trained  whether the head was trained to align; is_given: whether a person gave the translation
    marks       what of the head is edited
    unlike      where the translation differs from those of the others, as (start, end)
    choices     what each row's tokens were, and could have been
    cell        the chosen row and column
    links       the links that are drawn as decided; None: there are none
    """

    slot: int
    name: str
    translation: str
    matrix: HeadMatrix
    cell: tuple[int, int]
    place: tuple[int, int | None]
    shape: tuple[int, int]
    is_trained: bool = False
    is_given: bool = False
    quantity: Quantity = "weights"
    marks: HeadMarks = NO_MARKS
    unlike: tuple[tuple[int, int], ...] = ()
    choices: tuple[tuple[WrittenToken, ...], ...] | None = None
    links: tuple[Link, ...] | None = None


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
        "isTrained": model.is_trained,
        "isGiven": model.is_given,
        "number": NUMBERS[model.quantity],
        "off": model.marks.off,
        "edited": [list(cell) for cell in model.marks.cells],
        "hidden": list(model.marks.columns),
        "place": model.place,
        "shape": model.shape,
        "translation": model.translation,
        "unlike": model.unlike,
        "queries": [_token(token) for token in matrix.queries],
        "keys": [_token(token) for token in matrix.keys],
        "directions": [direction(matrix.queries), direction(matrix.keys)],
        # Of a click Python is told the places in the map, which the same view of its tokens shows at these rows and columns.
        "rows": matrix.rows,
        "columns": matrix.columns,
        "links": None if model.links is None else [[link.query, link.key] for link in model.links],
        "choices": [[_choice(choice) for choice in choices] for choices in model.choices or ((),) * len(matrix.rows)],
    }


def _token(token: Token) -> list[object]:
    return [visible_text(token.text), int(token.special), token.start, token.end]


def _choice(choice: WrittenToken) -> dict[str, object]:
    offered = zip(choice.alternatives, choice.open, strict=True)
    return {
        "step": choice.step,
        "text": visible_text(choice.token.text),
        "p": choice.probability,
        "fixed": choice.fixed,
        "alternatives": [[visible_text(name.replace("▁", " ").strip()), p, can] for (name, p), can in offered],
    }


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


# Pixels: a row, a step's letters, and the room that its curves need.
ROW, GAP, MARGIN = 28, 34, 14
# Widths of letters at 16 px: a Latin one, and one of those that fill a square.
NARROW, WIDE = 8.6, 16.5
LONGEST = 16
# Less likely twigs that the search dropped are left out, unless nothing else grew on their parent.
LEAST = 0.01


@dataclass(frozen=True)
class Twig:
    """One token that the search weighed, p of it after those before it, and the place of the twig that it grew on."""

    name: str
    parent: int | None
    probability: float
    kept: bool


@dataclass(frozen=True)
class Grown:
    """How a tree is drawn.

    leaves  the last twigs of the translations found, best first; chosen: which of them is looked at
    begins  what all of them begin with, as one label
    """

    leaves: tuple[int, ...]
    chosen: int = 0
    begins: str = ""
    theme: Theme = LIGHT


@dataclass(frozen=True)
class _Place:
    """Where a label begins and ends, and where its column does."""

    x: float
    y: float
    end: float
    column_end: float


def beam_tree(twigs: Sequence[Twig], grown: Grown) -> str:
    """Draw the tree as HTML, a column a step, best first. A leaf has its rank as a mark and as `data-pick`.

    Twigs on the way to a translation are drawn in full, the chosen one's in the accent colour; those that the search left again
    are faint, and those that it never took are struck out. Every name is escaped.

    >>> twigs = [Twig("a<b", None, 0.75, True), Twig("c", None, 0.25, False), Twig("</s>", 0, 1.0, True)]
    >>> drawn = beam_tree(twigs, Grown(leaves=(2,)))
    >>> "a&lt;b" in drawn, 'data-pick="0"' in drawn, drawn.count('class="twig dropped"')
    (True, True, 1)
    """
    # All that was kept; and what fell out and was likely, or was all that its parent could become.
    going_on = {twig.parent for twig in twigs if twig.kept}
    drawn = {place for place, twig in enumerate(twigs) if twig.kept or twig.probability >= LEAST or twig.parent not in going_on}
    columns = _columns(twigs, drawn)
    root, places = _placed(twigs, columns, grown.begins)
    alive = {place for leaf in grown.leaves for place in _path(twigs, leaf)}
    chosen = _path(twigs, grown.leaves[grown.chosen]) if grown.leaves else set()
    kinds = [_kind(place, twig, alive, chosen) for place, twig in enumerate(twigs)]
    ranks = {leaf: rank for rank, leaf in enumerate(grown.leaves)}
    # The chosen path is drawn last, over the others.
    order = sorted(places, key=lambda place: place in chosen)
    curves = "".join(
        _curve(root if (up := twigs[place].parent) is None else places[up], places[place], kinds[place]) for place in order
    )
    labels = "".join(_label(twigs[place], places[place], kinds[place], ranks.get(place)) for place in sorted(places))
    width = max(each.end for each in places.values()) + 40 if places else 0
    height = max(len(column) for column in columns) * ROW + 2 * MARGIN if columns else 0
    begins = (
        f'<text class="root" x="{root.x:.0f}" y="{root.y + 5:.0f}">{_isolated(grown.begins)}</text>' if grown.begins else ""
    )
    description = f"Beam search: {len(twigs)} tokens weighed in {len(columns)} steps, {len(grown.leaves)} translations found"
    return (
        f'<div class="tree" dir="ltr" style="{css_variables(grown.theme)}"><svg width="{width:.0f}" height="{height}" '
        f'role="img" aria-label="{description}">{curves}{begins}{labels}</svg></div>'
    )


def candidates(translations: Sequence[tuple[str, float]], *, chosen: int, theme: Theme = LIGHT) -> str:
    """Draw the translations of a search, with ln p of each, as buttons whose `data-pick` is their place.

    >>> candidates([("Le <chat>.", -1.5)], chosen=0).count("Le &lt;chat&gt;.")
    1
    """
    rows = "".join(
        f'<button class="candidate{" chosen" if index == chosen else ""}" data-pick="{index}">'
        f'<em>{index + 1}</em><bdi>{html.escape(text) or "␣"}</bdi><em class="figure">{signed(value)}</em></button>'
        for index, (text, value) in enumerate(translations)
    )
    return f'<div class="candidates" style="{css_variables(theme)}">{rows}</div>'


def _columns(twigs: Sequence[Twig], visible: set[int]) -> list[list[int]]:
    """Order the twigs of each step by the place of their parents, so that no two curves cross; then by p, dropped ones last."""
    steps: list[int] = []
    for twig in twigs:
        steps.append(0 if twig.parent is None else steps[twig.parent] + 1)
    columns: list[list[int]] = []
    rank: dict[int | None, int] = {None: 0}
    for step in range(max(steps, default=-1) + 1):
        mine = [place for place, at in enumerate(steps) if at == step and place in visible]
        mine.sort(key=lambda place: (rank[twigs[place].parent], not twigs[place].kept, -twigs[place].probability))
        rank |= {place: index for index, place in enumerate(mine)}
        columns.append(mine)
    return columns


def _placed(twigs: Sequence[Twig], columns: list[list[int]], begins: str) -> tuple[_Place, dict[int, _Place]]:
    """Place every twig: each column is as wide as its longest label, and centred on the tallest."""
    tallest = max(map(len, columns), default=0)
    middle = MARGIN + tallest * ROW / 2
    x = 8 + _width(begins)
    root, x = _Place(8.0, middle, x, x), x + GAP
    places: dict[int, _Place] = {}
    for column in columns:
        wide = max(_span(twigs[place]) for place in column)
        top = middle - (len(column) - 1) * ROW / 2
        for row, place in enumerate(column):
            places[place] = _Place(x, top + row * ROW, x + _span(twigs[place]), x + wide)
        x += wide + GAP
    return root, places


def _path(twigs: Sequence[Twig], leaf: int) -> set[int]:
    """Walk from a leaf to its root: the places of the leaf and of all it grew on."""
    parent = twigs[leaf].parent
    return {leaf} | (set() if parent is None else _path(twigs, parent))


def _kind(place: int, twig: Twig, alive: set[int], chosen: set[int]) -> str:
    if place in chosen:
        return "chosen"
    return "alive" if place in alive else "left" if twig.kept else "dropped"


def _curve(start: _Place, end: _Place, kind: str) -> str:
    left, right = start.column_end, end.x - 5
    middle = (left + right) / 2
    return (
        f'<path class="{kind}" d="M{start.end:.0f} {start.y:.0f}H{left:.0f}C{middle:.0f} {start.y:.0f} '
        f'{middle:.0f} {end.y:.0f} {right:.0f} {end.y:.0f}"/>'
    )


def _span(twig: Twig) -> float:
    return _width(f"{_name(twig)} 0.00")


def _label(twig: Twig, at: _Place, kind: str, rank: int | None) -> str:
    pick, badge = "", ""
    if rank is not None:
        x = at.end + 16
        pick = f' data-pick="{rank}"'
        badge = (
            f'<circle cx="{x:.0f}" cy="{at.y:.0f}" r="11"/><text class="rank" x="{x:.0f}" y="{at.y + 5:.0f}">{rank + 1}</text>'
        )
    whole = html.escape(_readable(twig.name))
    return (
        f'<g class="twig {kind}"{pick}><title>{whole} {twig.probability:.2f}</title><text x="{at.x:.0f}" y="{at.y + 5:.0f}">'
        f"{_isolated(_name(twig))} <tspan>{twig.probability:.2f}</tspan></text>{badge}</g>"
    )


def _readable(name: str) -> str:
    return name.replace("▁", " ").strip() or "␣"


def _name(twig: Twig) -> str:
    return cut(_readable(twig.name), LONGEST)


def _isolated(text: str) -> str:
    """Escape a text, between the marks that keep a right-to-left word from moving the number after it (Unicode UAX #9)."""
    return f"\u2068{html.escape(text)}\u2069"


def _width(text: str) -> float:
    return sum((WIDE if letter >= "\u1100" else NARROW for letter in text), start=0.0)
