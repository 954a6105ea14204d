"""What a language model says comes next, and why, on paper, as a table, and as a page."""

import html
import json as text_format
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from attnviz.analysis.next_and_why import (
    bits_per_byte,
    candidate_labels,
    continuation_of,
    describe_range,
    describe_sum,
    next_table,
    row_name,
    text_written_on,
)
from attnviz.analysis.wording import cut, percent, signed
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace
from attnviz.core.why import LogitLens, Parts, PatchCurve, Patches
from attnviz.export import draw_sheet, formats_of
from attnviz.export.csv_table import csv_table
from attnviz.export.paper import FONT, PADDING, Item, Label, Rectangle, Sheet, Word, draw_words, moved, printed_text, titled
from attnviz.figures.theme import LIGHT, diverging, ink_on
from attnviz.text.words import visible_text

COLUMNS = ("position", "token", "written", "log_p", "rest", "rank", "candidate", "candidate_log_p")
BARS, BAR, ROW, NAMES = 10, 200.0, 13.0, 90.0
# The names of columns, and their rows.
Table = tuple[Sequence[str], Iterable[Sequence[object]]]
# Weights and probabilities in JSON: the sixth decimal depends on how a processor rounds.
_DECIMALS = 5


def next_file(trace: AttentionTrace, to: str) -> bytes:
    """Write what comes next in a format: a drawing, a table, or a page.

    Raises:
        TraceError: the trace does not say what comes next.
        AttnvizError: there is no such format of it.
    """
    title = f"What comes next, by {trace.model}"
    return _file(to, title, lambda: draw_next(trace), lambda: (COLUMNS, next_table(trace)), lambda: next_record(trace))


def _file(
    to: str, title: str, draw: Callable[[], Sheet], table: Callable[[], Table], record: Callable[[], dict[str, object]]
) -> bytes:
    """Write a drawing, a table or plain values in a format; a page has the drawing, and is called `title`."""
    check_format(to)
    if to in formats_of("drawing"):
        return draw_sheet(draw(), to)
    if to == "csv":
        return csv_table(*table())
    if to == "json":
        return text_format.dumps(record(), ensure_ascii=False).encode("utf-8")
    body = draw_sheet(draw(), "svg").decode("utf-8").partition("?>")[2]
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>{body}</html>'.encode()


def check_format(to: str) -> None:
    """Check that what comes next, and why, is written in a format.

    Raises:
        AttnvizError: it is not; the message names those that there are.
    """
    formats = [*formats_of("drawing"), "html", "csv", "json"]
    if to not in formats:
        raise AttnvizError(f"This is not written as {to!r}: choose {', '.join(formats[:-1])} or {formats[-1]}.")


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
    candidates = continuation.next_tokens(len(tokens) - 1)
    labels = candidate_labels(candidates, text_written_on(trace))[:BARS]
    for row, (label, each) in enumerate(zip(labels, candidates, strict=False)):
        y = PADDING + row * ROW
        items.append(Label(NAMES, y + ROW / 2, label, anchor="end", size=9.0))
        data = (("share", f"{each.probability:.6g}"),)
        items.append(Rectangle(NAMES + 6, y + 2, max(each.probability * BAR, 0.5), ROW - 4, LIGHT.accent, data=data))
        items.append(Label(NAMES + 10 + each.probability * BAR, y + ROW / 2, f"{100 * each.probability:.1f} %", size=9.0))
    bars = titled(Sheet("", NAMES + BAR + 50, len(items) / 3 * ROW + 2 * PADDING, tuple(items)), "What could come next")
    below = (moved(item, 0, text.height) for item in bars.items)
    return Sheet(text.title, max(text.width, bars.width), text.height + bars.height, (*text.items, *below))


WhyValue = Parts | LogitLens | Patches
LEFT, TOP, WIDE, HIGH = 46.0, 14.0, 34.0, 13.0


def why_file(value: WhyValue, to: str) -> bytes:
    """Write parts, a lens or patches in a format: a drawing, a table, or a page.

    Raises:
        AttnvizError: there is no such format of it.
    """
    return _file(to, why_title(value), lambda: draw_why(value), lambda: (value.columns, value.rows), lambda: why_record(value))


def together_csv(curve: PatchCurve) -> bytes:
    """Write a row for every number of parts that were set together: the difference with the best, and with each draw."""
    return csv_table(curve.columns, curve.rows)


def why_record(value: WhyValue) -> dict[str, object]:
    """List it as plain values: what it is of, and every row of its table by the names of its columns."""
    facts: dict[str, object] = {"model": value.model}
    if isinstance(value, Parts):
        facts |= {"word": value.words.word, "rather_than": value.words.rather_than, "logit": value.logit, "sums": value.sums}
    if isinstance(value, Patches):
        facts |= {"word": value.words.word, "rather_than": value.words.rather_than, "texts": list(value.texts)}
        facts |= {"one": value.one, "other": value.other, "correlation": value.correlation}
        if value.random is not None:
            parts = zip(value.strongest, value.random.tolist(), strict=True)
            facts["random"] = [{"row": row, "column": column, "differences": each} for (row, column), each in parts]
    rows = [dict(zip(value.columns, map(_plain, row), strict=True)) for row in value.rows]
    return facts | {"rows": rows}


def _plain(cell: object) -> object:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def why_title(value: WhyValue) -> str:
    """Say in one line what is drawn."""
    if isinstance(value, Parts):
        return f"{value.model}: {describe_sum(value)}"
    if isinstance(value, LogitLens):
        return f"{value.model}: what each layer would have said"
    kind = {"heads": "a head", "mlps": "an MLP", "stream": "the stream"}[value.what]
    estimate = ", estimated" if value.patched is None else ""
    texts = f"{signed(value.one)} in the first text, {signed(value.other)} in the other"
    return f"{value.model}: {value.words.label} with {kind} of the other text{estimate}; {texts}"


def draw_why(value: WhyValue) -> Sheet:
    """Draw a box a part, orange for and blue against; of a lens the likeliest token of each row, as strong as it is likely."""
    if isinstance(value, LogitLens):
        names = [row_name(row) for row in range(len(value.likeliest))]

        def said(row: int, column: int) -> tuple[str, str]:
            share = float(value.probability[row, column])
            return cut(visible_text(value.likeliest[row][column].strip(" ")) or "␣", 7), LIGHT.colour(share)

        return _grid(names, [cut(token.text, 7) for token in value.tokens], said, why_title(value))
    if isinstance(value, Parts):
        numbers, columns = np.column_stack([value.heads, value.mlps]), [f"H{head}" for head in range(value.heads.shape[1])]
        return _numbers(numbers, [f"L{layer}" for layer in range(len(numbers))], [*columns, "MLP"], why_title(value))
    rows, columns = value.change.shape
    names = {
        "heads": [f"H{column}" for column in range(columns)],
        "mlps": ["MLP"],
        "stream": [cut(token.text, 7) for token in value.tokens[0]],
    }
    layers = [row_name(row) if value.what == "stream" else f"L{row}" for row in range(rows)]
    return _numbers(value.change, layers, names[value.what], why_title(value))


def _numbers(values: np.ndarray, rows: list[str], columns: list[str], title: str) -> Sheet:
    largest = max(float(np.abs(values).max(initial=0.0)), 1e-12)

    def cell(row: int, column: int) -> tuple[str, str]:
        value = float(values[row, column])
        return signed(value) if abs(value) >= 0.005 else "", diverging(value / largest)

    return _grid(rows, columns, cell, title)


def _grid(rows: list[str], columns: list[str], cell: Callable[[int, int], tuple[str, str]], title: str) -> Sheet:
    items: list[Item] = []
    for row, column in np.ndindex(len(rows), len(columns)):
        text, colour = cell(row, column)
        x, y = LEFT + column * WIDE, TOP + row * HIGH
        items.append(Rectangle(x, y, WIDE - 1.0, HIGH - 1.0, colour))
        if text:
            items.append(Label(x + WIDE / 2, y + HIGH / 2, text, "middle", size=FONT, colour=ink_on(colour)))
    items += [Label(LEFT - PADDING, TOP + (row + 0.5) * HIGH, name, "end") for row, name in enumerate(rows)]
    items += [Label(LEFT + (column + 0.5) * WIDE, TOP / 2, name, "middle", bold=True) for column, name in enumerate(columns)]
    return titled(Sheet(title, LEFT + len(columns) * WIDE + PADDING, TOP + len(rows) * HIGH + FONT, tuple(items)), title)


def why_lines(value: WhyValue, most: int = 10) -> list[str]:
    """Write what is strongest as lines for a terminal."""
    if isinstance(value, LogitLens):
        last = len(value.tokens) - 1
        return [
            f"{row_name(row):>9}  {value.likeliest[row][last]!r} {percent(float(value.probability[row, last]))}; "
            f"{value.words[last]!r} is number {value.rank[row, last]:,}"
            for row in range(len(value.likeliest))
        ]
    if isinstance(value, Parts):
        strongest = sorted(value.rows, key=lambda row: -abs(row[-1]))[:most]
        return [describe_sum(value), *(f"{name:>12}  {signed(adds, '+.3f')}" for *_, name, adds in strongest)]
    order = np.argsort(-np.abs(value.change), axis=None, kind="stable")[:most].tolist()
    rows = [value.rows[place] for place in order]
    lines = [why_title(value)] + (
        [] if value.correlation is None else [f"correlation with the estimate: {value.correlation:.2f}"]
    )
    for place, row in zip(order, rows, strict=True):
        line = "  ".join([*map(str, row[:-4]), signed(row[-4]), signed(row[-3], "+.2f")])
        spread = value.random_change(*(int(each) for each in np.unravel_index(place, value.change.shape)))
        lines.append(line + ("" if spread is None else f"  random texts {describe_range(spread)}"))
    return lines
