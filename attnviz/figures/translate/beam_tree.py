"""The tree of a beam search: what it followed, what it dropped and where; and the list of translations at its leaves."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.analysis.wording import cut, signed
from attnviz.figures.theme import LIGHT, Theme, css_variables

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
