"""A text with the kept words marked and the rest faded, and under every word a bar for the attention it receives."""

import html
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.summarize.selection import Passage, Selection
from attnviz.analysis.summarize.summary_words import SummaryWord
from attnviz.analysis.wording import whole_percent
from attnviz.figures.theme import LIGHT, Theme, css_variables
from attnviz.figures.token_labels import label, space_between

STYLE = Path(__file__).with_name("passage.css").read_text(encoding="utf-8")
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

    >>> from attnviz.analysis.summarize.selection import Amount, choose, read_passage
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


def _unit(name: str, score: float, height: float, kept: bool) -> str:
    bar = f'<span class="bar"><i style="height:{height * BAR_PIXELS:.1f}px"></i></span>'
    kind = "unit kept" if kept else "unit"
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
