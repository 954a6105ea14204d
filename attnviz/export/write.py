"""What a language model says comes next, on paper, as a table, and as a page."""

import html
import json as text_format
import math
from itertools import groupby
from operator import itemgetter

from attnviz.analysis.write import bits_per_byte, candidate_label, continuation_of, next_table, text_written_on
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace
from attnviz.export.png import sheet_svg
from attnviz.export.sheet import (
    PADDING,
    Item,
    Label,
    NumberCell,
    Rectangle,
    Sheet,
    Word,
    csv_table,
    draw_words,
    moved,
    printed_text,
    titled,
)
from attnviz.figures.theme import LIGHT

COLUMNS = ("position", "token", "written", "log_p", "rest", "rank", "candidate", "candidate_log_p")
BARS, BAR, ROW, NAMES = 10, 200.0, 13.0, 90.0
# Weights and probabilities in JSON: the sixth decimal depends on how a processor rounds.
_DECIMALS = 5


def next_file(trace: AttentionTrace, to: str) -> bytes:
    """Write what comes next in a format: a drawing, a table, or a page.

    Raises:
        TraceError: the trace does not say what comes next.
        AttnvizError: there is no such format of it.
    """
    if to in ("svg", "png", "pdf"):
        from attnviz.export import draw_sheet

        return draw_sheet(draw_next(trace), to)
    if to == "csv":
        rows = next_table(trace)
        return csv_table(
            COLUMNS, ([NumberCell(cell) if isinstance(cell, int | float) else cell for cell in row] for row in rows)
        )
    if to == "json":
        return text_format.dumps(next_record(trace), ensure_ascii=False).encode("utf-8")
    if to == "html":
        body = sheet_svg(draw_next(trace)).decode("utf-8").partition("?>")[2]
        title = html.escape(f"What comes next, by {trace.model}")
        return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{body}</html>'.encode()
    raise AttnvizError(f"What comes next is not written as {to!r}: choose svg, png, pdf, html, csv or json.")


def next_record(trace: AttentionTrace) -> dict[str, object]:
    """List what comes next as plain values: each token with ln p, and its candidates."""
    tokens = []
    for _, rows in groupby(next_table(trace), key=itemgetter(0)):
        candidates = list(rows)
        _, token, written, given, rest, *_ = candidates[0]
        tokens.append(
            {
                "token": token,
                "written": written,
                "log_p": None if given is None else round(given, _DECIMALS),
                "rest": round(rest, _DECIMALS),
                "next": [[candidate, round(log, _DECIMALS)] for *_, candidate, log in candidates],
            }
        )
    bits = bits_per_byte(trace)
    return {
        "model": trace.model,
        "text": trace.prompt.text,
        "written": trace.output,
        "bits_per_byte": None if bits is None else round(bits, _DECIMALS),
        "tokens": tokens,
    }


def draw_next(trace: AttentionTrace) -> Sheet:
    """Draw the text, what was written framed and shaded by how likely it was, and bars of what could come next."""
    continuation, tokens = continuation_of(trace), trace.maps[-1].queries
    words = [
        Word(
            printed_text(token),
            math.exp(continuation.given[place]) if place >= continuation.start else 0.0,
            place >= continuation.start,
        )
        for place, token in enumerate(tokens)
    ]
    title = f"What comes next, by {trace.model}{f', edited {trace.edits.text}' if trace.edits else ''}"
    text = draw_words(words, f"{title}; what it wrote is shaded by how likely it was" if continuation.written else title)
    items: list[Item] = []
    for row, each in enumerate(continuation.next_tokens(len(tokens) - 1)[:BARS]):
        y = PADDING + row * ROW
        items.append(Label(NAMES, y + ROW / 2, candidate_label(each, text_written_on(trace)), anchor="end", size=9.0))
        data = (("share", f"{each.probability:.6g}"),)
        items.append(Rectangle(NAMES + 6, y + 2, max(each.probability * BAR, 0.5), ROW - 4, LIGHT.accent, data=data))
        items.append(Label(NAMES + 10 + each.probability * BAR, y + ROW / 2, f"{100 * each.probability:.1f} %", size=9.0))
    bars = titled(Sheet("", NAMES + BAR + 50, len(items) / 3 * ROW + 2 * PADDING, tuple(items)), "What could come next")
    below = (moved(item, 0, text.height) for item in bars.items)
    return Sheet(text.title, max(text.width, bars.width), text.height + bars.height, (*text.items, *below))
