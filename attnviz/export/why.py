"""Why a language model writes a word, on paper, as a table, and as a page: parts, the logit lens, patches."""

import html
import json as text_format
import math
from collections.abc import Callable

import numpy as np

from attnviz.analysis.why import describe_range, describe_sum, row_name
from attnviz.analysis.wording import cut, percent, signed
from attnviz.core.errors import AttnvizError
from attnviz.core.why import LogitLens, Parts, Patches
from attnviz.export import draw_sheet
from attnviz.export.sheet import FONT, PADDING, Item, Label, NumberCell, Rectangle, Sheet, csv_table, printable, titled
from attnviz.figures.theme import LIGHT, diverging, ink_on
from attnviz.text.words import visible_text

WhyValue = Parts | LogitLens | Patches
FORMATS = ("svg", "png", "pdf", "html", "csv", "json")
LEFT, TOP, WIDE, HIGH = 46.0, 14.0, 34.0, 13.0


def why_file(value: WhyValue, to: str) -> bytes:
    """Write parts, a lens or patches in a format: a drawing, a table, or a page.

    Raises:
        AttnvizError: there is no such format of it.
    """
    if to in ("svg", "png", "pdf"):
        return draw_sheet(draw_why(value), to)
    if to == "csv":
        rows = ([NumberCell(cell) if isinstance(cell, int | float) else cell for cell in row] for row in value.rows)
        return csv_table(value.columns, rows)
    if to == "json":
        return text_format.dumps(why_record(value), ensure_ascii=False).encode("utf-8")
    if to == "html":
        # Imported here: it brings Matplotlib, which no page waits for.
        from attnviz.export.png import sheet_svg

        body = sheet_svg(draw_why(value)).decode("utf-8").partition("?>")[2]
        title = html.escape(why_title(value))
        return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>{body}</html>'.encode()
    raise AttnvizError(f"This is not written as {to!r}: choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")


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
            items.append(Label(x + WIDE / 2, y + HIGH / 2, printable(text), "middle", size=FONT, colour=ink_on(colour)))
    items += [Label(LEFT - PADDING, TOP + (row + 0.5) * HIGH, name, "end") for row, name in enumerate(rows)]
    items += [
        Label(LEFT + (column + 0.5) * WIDE, TOP / 2, printable(name), "middle", bold=True)
        for column, name in enumerate(columns)
    ]
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
