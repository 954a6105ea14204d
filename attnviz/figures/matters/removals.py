"""The experiment of Matters: a text shaded by what its output loses without each word, bars, and where attention looked."""

import html
from collections.abc import Collection
from pathlib import Path

from attnviz.analysis.matters.faithfulness import AttributionReport, MaskedOutput
from attnviz.analysis.matters.word_removal import (
    WordRemovals,
    describe_attention,
    removal_names,
    removal_rows,
    strongest_first,
)
from attnviz.figures.html import sentence_html
from attnviz.figures.matters.shaded_text import STYLE as TEXT_STYLE
from attnviz.figures.matters.shaded_text import WordMarks, shaded_text
from attnviz.figures.theme import LIGHT, Theme, css_variables

STYLE = TEXT_STYLE + Path(__file__).with_name("removals.css").read_text(encoding="utf-8")
# More words than these are written smaller, in a box that scrolls.
MANY = 120


def removals_figure(
    report: AttributionReport,
    removals: WordRemovals,
    removed: Collection[int] = (),
    after: MaskedOutput | None = None,
    *,
    looked: tuple[str, str],
    theme: Theme = LIGHT,
) -> str:
    """Draw the text, bars of the words that its output needs most, and the shares of one method of attention.

    `after` is the output without the words that are `removed`; `looked` the name of the method, and its heading.
    A click picks a word's place.
    """
    names = removal_names(report, removals)
    first = strongest_first(report, removals)[0]
    begins = [place for place in range(1, len(names)) if removals.segments[place] != removals.segments[place - 1]]
    marks = WordMarks(report.own, removed, removed or (first,), begins)
    titles = [f"without it: {removals.amount(p)}" for p in removals.without]
    many = len(names) > MANY
    text = shaded_text(report.words, removals.drops, marks, titles=titles, theme=theme)
    style = f"{css_variables(theme)};--background:{theme.background}"
    return (
        f'<div class="removals{" many" * many}" style="{style}"><div{" class=long" * many}>{text}</div><div class="beside">'
        f"{_bars(report, removals, tuple(removed), after)}{_looked(report, removals, looked, begins, theme)}</div></div>"
    )


def _bars(report: AttributionReport, removals: WordRemovals, removed: tuple[int, ...], after: MaskedOutput | None) -> str:
    """P of the output without some words, below that of the whole text."""
    sure = {"similarity": "How alike the two texts are without …", "sentence": "Its share of the attention without …"}
    what = report.target.removeprefix("the answer ") if removals.kind == "answer" else "this output"
    heading = html.escape(sure.get(removals.kind, f"How sure the model is of {what} without …"))
    top = max(removals.before.probability, *removals.without.tolist(), 1e-9)
    end = 1.0 if removals.kind != "sentence" else top
    whole = _bar("all words there", removals, removals.before.probability, end, removals.before.text or "", " whole", None)
    named = removed or (strongest_first(report, removals)[0],)
    rows = [
        _bar(row.name, removals, row.probability, end, row.says, " named" if row.places == named else "", row.places)
        for row in removal_rows(report, removals, removed, after)
    ]
    return f'<div><h4>{heading}</h4><div class="bars">{whole}{"".join(rows)}</div></div>'


def _bar(name: str, removals: WordRemovals, p: float, end: float, says: str, kind: str, places: tuple[int, ...] | None) -> str:
    width = 100 * min(max(p / end, 0.0), 1.0)
    cells = (
        f'<span class="name" dir="auto">{html.escape(name)}</span><span class="full"><i style="width:{width:.1f}%"></i></span>'
        f'<b class="number">{removals.amount(p)}</b>'
        f'<span class="says" dir="auto" title="{html.escape(says)}">{html.escape(says)}</span>'
    )
    if places is None or len(places) > 1:
        return f'<div class="bar{kind}">{cells}</div>'
    return f'<button class="bar{kind}" data-pick="{places[0]}">{cells}</button>'


def _looked(report: AttributionReport, removals: WordRemovals, looked: tuple[str, str], begins: list[int], theme: Theme) -> str:
    """The same text by attention, small, and how well attention finds what matters."""
    method, heading = looked
    said = f"<p>{sentence_html(describe_attention(report, removals, method))}</p>"
    text = ""
    if method in report.shares:
        marks = WordMarks(report.own, begins=begins)
        text = shaded_text(report.words, report.shares[method], marks, clickable=False, theme=theme)
        text = f'<div class="long">{text}</div>' if len(report.words) > MANY else text
    return f'<div class="looked"><h4>{html.escape(heading)}</h4>{text}{said}</div>'
