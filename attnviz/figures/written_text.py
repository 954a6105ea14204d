"""A text that a language model reads and writes on, and what could come next, described for write.js, which draws them."""

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnviz.analysis.next_and_why import candidate_labels, continuation_of, text_written_on
from attnviz.core.sampling import Candidate
from attnviz.core.trace import AttentionTrace
from attnviz.figures.html import bundle
from attnviz.figures.theme import LIGHT, Theme, mixed
from attnviz.text.words import visible_text

_FOLDER = Path(__file__).parent
SCRIPT = bundle(_FOLDER / "write.js")
STYLE = (_FOLDER / "write.css").read_text(encoding="utf-8")
# Of a longer text so many tokens are drawn, its last ones: a browser lays out no book in an instant.
MOST_DRAWN = 1_200
# Candidates that are drawn as bars.
BARS = 8
# Of a longer one, while it grows, so many characters.
MOST_CHARACTERS = 4_000


def written_text(trace: AttentionTrace, *, chosen: int, upcoming: str) -> dict[str, Any]:
    """Describe a text with a button for each token but the first, and behind them one for the `upcoming` token, a label."""
    skipped = max(len(trace.maps[-1].queries) - MOST_DRAWN, 0)
    tokens, start = text_tokens(trace)[skipped:], continuation_of(trace).start
    return {"kind": "text", "skipped": skipped, "tokens": tokens, "start": start, "chosen": chosen, "upcoming": upcoming}


def text_tokens(trace: AttentionTrace) -> list[tuple[str, str, float]]:
    """List the tokens of a text: the space before each, its label, and how likely it was behind those before it.

    A letter that is several tokens stands with the first of them: the label of the others is empty.
    """
    rows, end, text = [], 0, text_written_on(trace)
    for token, given in zip(trace.maps[-1].queries, continuation_of(trace).given.tolist(), strict=True):
        gap = "" if token.special else text[end : token.start]
        is_part = not token.special and token.start < token.end <= end
        end = end if token.special else max(end, token.end)
        rows.append((gap, "" if is_part else visible_text(token.text), math.exp(given)))
    return rows


def coming_text(text: str, coming: str, *, theme: Theme = LIGHT) -> str:
    """Draw a text, and behind it, shaded, what is being written. All text is escaped and keeps its own direction.

    >>> "a&lt;b<mark" in coming_text("a<b", " c>d"), "> c&gt;d</mark>" in coming_text("a<b", " c>d")
    (True, True)
    """
    before = html.escape(text if len(text) <= MOST_CHARACTERS else f"… {text[-MOST_CHARACTERS:]}")
    style = f"background:{mixed(theme.background, theme.accent, 0.25)};color:{theme.text};border-radius:4px"
    frame = "font-size:1.3rem;line-height:1.75;overflow-wrap:anywhere;white-space:pre-wrap;padding:4px"
    return f'<div dir="auto" role="status" style="{frame}">{before}<mark style="{style}">{html.escape(coming)}</mark></div>'


def next_bars(
    candidates: Sequence[Candidate],
    before: str,
    *,
    known: Sequence[Candidate] = (),
    stands: str = "",
    clickable: bool = True,
) -> dict[str, Any]:
    """Describe the likeliest of what could come next as bars, and what the rest has; `stands`: the piece that stands there.

    `known` are all candidates, where sampling leaves some out: each has the same name at any temperature.

    >>> drawn = next_bars([Candidate("a", " cat", 0.75)], "an")
    >>> drawn["rows"], drawn["rest"]
    ([('cat', ' cat', 0.75)], 0.25)
    >>> known = [Candidate("a", "(", 0.5), Candidate("b", " (", 0.25)]
    >>> next_bars([Candidate("b", " (", 1.0)], "an", known=known)["rows"]
    [('␣(', ' (', 1.0)]
    """
    drawn, known = candidates[:BARS], known or candidates
    labels = dict(zip((each.piece for each in known), candidate_labels(known, before), strict=True))
    rows = [(labels[each.piece], each.text, each.probability) for each in drawn]
    pieces = [each.piece for each in drawn]
    place = pieces.index(stands) if stands in pieces else -1
    rest = max(0.0, 1 - sum(each.probability for each in drawn))
    return {"rows": rows, "stands": place, "rest": rest, "isNext": not stands, "isClickable": clickable}


def bars_at(first: int, places: Sequence[dict[str, Any]], chosen: int) -> dict[str, Any]:
    """Describe the bars of several places, the first of which is named: a click on a token shows those of its place at once."""
    return {"kind": "bars", "first": first, "places": places, "chosen": chosen}
