"""A text with the kept words marked and the rest faded, under every word a bar, and the selectors as a table."""

import html
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summary_selection import Passage, Selection, SummaryWord
from attnviz.analysis.wording import head_name, whole_percent
from attnviz.figures.head_grid import HeadCell, head_grid
from attnviz.figures.html import label, space_between
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("summary_passage.css").read_text(encoding="utf-8")
BAR_PIXELS = 16
# Of what a model has not read this much is shown.
UNREAD_CHARACTERS = 280


def marked_passage(
    passage: Passage,
    selection: Selection,
    scores: Float[np.ndarray, " unit"],
    shares: Float[np.ndarray, " sentence"] | None = None,
    *,
    theme: Theme = LIGHT,
) -> str:
    """Draw the whole text as HTML: kept words and sentences marked, under every word a bar, the longest for the highest score.

    `shares` are written before the sentences that are kept, in percent. All text is escaped and keeps its own direction.

    >>> from attnviz.analysis.summary_selection import Amount, choose, read_passage
    >>> from attnviz.core.trace import Token
    >>> passage = read_passage("a<b ok", (Token("a<b", 0, 3), Token("ok", 4, 6)))
    >>> drawn = marked_passage(passage, choose(passage, np.array([0.1, 0.9]), np.ones(1), Amount(1)), np.array([0.1, 0.9]))
    >>> "a&lt;b" in drawn, drawn.count('class="unit kept"')
    (True, 1)
    """
    highest = max(float(scores[passage.candidate].max()), 1e-12)
    pieces, end, last = [], 0, -1
    for index, (unit, number) in enumerate(zip(passage.units, passage.sentence, strict=True)):
        between = space_between(passage.text[end : unit.start])
        if number != last:
            pieces.append(("</span>" if last >= 0 else "") + between + _sentence_start(number, selection, shares))
        else:
            pieces.append(between)
        pieces.append(
            _unit(label(unit), float(scores[index]), min(float(scores[index]) / highest, 1.0), bool(selection.units[index]))
        )
        end, last = max(end, unit.end), number
    unread = passage.text[end:].strip()
    cut = "…" if len(unread) > UNREAD_CHARACTERS else ""
    pieces.append(
        f'</span> <span class="unread">{html.escape(unread[:UNREAD_CHARACTERS])}{cut}</span>' if unread else "</span>"
    )
    return f'<div class="passage long" dir="auto" style="{css_variables(theme)}">{"".join(pieces)}</div>'


def _sentence_start(number: int, selection: Selection, shares: Float[np.ndarray, " sentence"] | None) -> str:
    if not selection.sentences[number]:
        return '<span class="sentence">'
    rank = "" if shares is None else f'<span class="rank">{whole_percent(shares[number])}</span>'
    return f'<span class="sentence kept">{rank}'


def _unit(name: str, score: float, height: float, in_summary: bool) -> str:
    bar = f'<span class="bar"><i style="height:{height * BAR_PIXELS:.1f}px"></i></span>'
    kind = "unit kept" if in_summary else "unit"
    return f'<span class="{kind}" title="{score:.4f}" data-score="{score:.6f}"><bdi>{name}</bdi>{bar}</span>'


def summary_buttons(words: tuple[SummaryWord, ...], *, chosen: int | None = None, theme: Theme = LIGHT) -> str:
    """Draw a summary as buttons, one a word (`data-pick` is its place); those that the text had not are marked."""
    pieces, end = [], 0
    for index, word in enumerate(words):
        kind = (" new" if word.copied is False else "") + (" chosen" if index == chosen else "")
        gap = " " if word.token.start > end else ""
        pieces.append(f'{gap}<button class="word{kind}" data-pick="{index}"><bdi>{label(word.token)}</bdi></button>')
        end = word.token.end
    return (
        f'<div class="written" dir="auto" style="{css_variables(theme)}">{"".join(pieces)}'
        '<p class="legend"><b>Marked so</b>: not in the text. Click a word to see where the model looked when it wrote it.'
        "</p></div>"
    )


def heads_agreement(
    shares: Float[np.ndarray, "layer head"], *, selected: tuple[int, int | None] | None = None, theme: Theme = LIGHT
) -> str:
    """Draw the share (0 to 1) of each head's attention to words that lands on kept words, as a grid of buttons.

    `data-pick` is "layer.head"; `selected` has no head where it is the mean of a layer.

    >>> heads_agreement(np.array([[0.254, 1.0]]), selected=(0, 1)).count('aria-pressed="true"')
    1
    """

    def cell(layer: int, head: int) -> HeadCell:
        share = float(shares[layer, head])
        title = f"{head_name(layer, head)}: {100 * share:.1f}\xa0% to kept words"
        chosen = selected in ((layer, head), (layer, None))
        return HeadCell(f"{layer}.{head}", f"{100 * share:.0f}", theme.colour(share), title, chosen)

    return f'<div class="percents" style="{css_variables(theme)}">{head_grid(shares.shape, cell)}</div>'
