"""A text that a language model reads and writes on, as words to click; and bars of what could come next."""

import html
import math
from collections.abc import Sequence
from pathlib import Path

from attnviz.analysis.write import candidate_label, continuation_of, text_written_on
from attnviz.core.trace import AttentionTrace
from attnviz.core.write import Candidate
from attnviz.figures.html import label, space_between
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on, mixed

STYLE = Path(__file__).with_name("write.css").read_text(encoding="utf-8")
# Of a longer text so many tokens are drawn, its last ones: a browser lays out no book in an instant.
MOST_DRAWN = 1_200
# As a share of the width, the bar of a certainty: its number stands beside it.
WIDEST = 78
# Tokens as likely as this have the strongest colour under which black and white letters can be read alike.
_STRONGEST = 0.55


def written_text(trace: AttentionTrace, *, chosen: int, upcoming: str, theme: Theme = LIGHT) -> str:
    """Draw a text as buttons, a token each (`data-pick` is its place), and behind them the `upcoming` one, a label.

    Tokens that the model wrote are shaded by how likely they were. The first token is no button: nothing foretells it. All text
    is escaped and keeps its own direction.
    """
    continuation, tokens, text = continuation_of(trace), trace.maps[-1].queries, text_written_on(trace)
    first = max(len(tokens) - MOST_DRAWN, 0)
    pieces, end = [f'<span class="unread">… {first:,} tokens before … </span>' if first else ""], tokens[first].start
    for place, token in enumerate(tokens[first:], start=first):
        gap = "" if token.special else space_between(text[end : token.start])
        end = end if token.special else max(end, token.end)
        name = f"<bdi>{label(token)}</bdi>"
        if not place:
            pieces.append(f"{gap}{name}")
            continue
        style, share = "", math.exp(float(continuation.given[place]))
        if place >= continuation.start:
            colour = mixed(theme.background, theme.accent, 0.08 + share * _STRONGEST)
            style = f' style="background:{colour};color:{ink_on(colour)}"'
        mark = " data-first" if place == chosen else ""
        kind = f"{'written' if place >= continuation.start else ''}{' chosen' if place == chosen else ''}"
        title = f'title="{_percent(share)}"'
        pieces.append(f'{gap}<button class="{kind}" data-pick="{place}" {title}{mark}{style}>{name}</button>')
    mark = " data-first" if chosen == len(tokens) else ""
    kind = f"next{' chosen' if chosen == len(tokens) else ''}"
    name = f"<bdi>{html.escape(upcoming)}</bdi>"
    pieces.append(f' <button class="{kind}" data-pick="{len(tokens)}" title="What could come next"{mark}>{name}</button>')
    return f'<div class="text long" dir="auto" style="{css_variables(theme)}">{"".join(pieces)}</div>'


def next_bars(
    candidates: Sequence[Candidate], before: str, *, stands: str = "", clickable: bool = True, theme: Theme = LIGHT
) -> str:
    """Draw what could come next as bars, and what all other tokens have; `data-pick` is the place of a candidate.

    `stands`: the piece that stands there.

    >>> drawn = next_bars([Candidate("a", " <b>", 0.75)], "an")
    >>> "&lt;b&gt;" in drawn, "75.0" in drawn, "25.0" in drawn, 'data-pick="0"' in drawn
    (True, True, True, True)
    """
    rows = []
    for place, each in enumerate(candidates):
        name = html.escape(candidate_label(each, before))
        kind = "bar stands" if each.piece == stands else "bar"
        body = f"<bdi>{name}</bdi>{_bar(each.probability)}"
        pick = f'<button class="{kind}" data-pick="{place}" title="{html.escape(repr(each.text))}">{body}</button>'
        rows.append(pick if clickable else f'<div class="{kind}">{body}</div>')
    rest = max(0.0, 1 - sum(each.probability for each in candidates))
    if rest > 5e-4:
        rows.append(f'<div class="bar rest"><bdi>all others</bdi>{_bar(rest)}</div>')
    return f'<div class="bars" style="{css_variables(theme)}">{"".join(rows)}</div>'


def _bar(share: float) -> str:
    return f'<span><i style="width:{share * WIDEST:.2f}%"></i><em>{_percent(share)}</em></span>'


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\xa0%" if share >= 5e-4 else "&lt;\xa00.1\xa0%"
