"""A text that a language model reads and writes on, and what could come next, described for write.js, which draws it."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attnviz.analysis.write import candidate_label, continuation_of, text_written_on
from attnviz.core.trace import AttentionTrace
from attnviz.core.write import Candidate
from attnviz.figures.html import bundle
from attnviz.text.words import visible_text

_FOLDER = Path(__file__).parent
SCRIPT = bundle(_FOLDER / "write.js")
STYLE = (_FOLDER / "write.css").read_text(encoding="utf-8")
# Of a longer text so many tokens are drawn, its last ones: a browser lays out no book in an instant.
MOST_DRAWN = 1_200


def written_text(trace: AttentionTrace, *, chosen: int, upcoming: str) -> dict[str, Any]:
    """Describe a text with a button for each token but the first, and behind them one for the `upcoming` token, a label."""
    skipped = max(len(trace.maps[-1].queries) - MOST_DRAWN, 0)
    tokens, start = text_tokens(trace)[skipped:], continuation_of(trace).start
    return {"kind": "text", "skipped": skipped, "tokens": tokens, "start": start, "chosen": chosen, "upcoming": upcoming}


def text_tokens(trace: AttentionTrace) -> list[tuple[str, str, float]]:
    """List the tokens of a text: the space before each, its label, and how likely it was behind those before it."""
    rows, end, text = [], 0, text_written_on(trace)
    for token, given in zip(trace.maps[-1].queries, continuation_of(trace).given.tolist(), strict=True):
        gap = "" if token.special else text[end : token.start]
        end = end if token.special else max(end, token.end)
        rows.append((gap, visible_text(token.text), math.exp(given)))
    return rows


def next_bars(candidates: Sequence[Candidate], before: str, *, stands: str = "", clickable: bool = True) -> dict[str, Any]:
    """Describe what could come next as bars, and what all other tokens have; `stands`: the piece that stands there.

    >>> drawn = next_bars([Candidate("a", " cat", 0.75)], "an")
    >>> drawn["rows"], drawn["rest"]
    ([('cat', ' cat', 0.75)], 0.25)
    """
    rows = [(candidate_label(each, before), each.text, each.probability) for each in candidates]
    pieces = [each.piece for each in candidates]
    place = pieces.index(stands) if stands in pieces else -1
    rest = max(0.0, 1 - sum(each.probability for each in candidates))
    return {"kind": "bars", "rows": rows, "stands": place, "rest": rest, "isClickable": clickable}
