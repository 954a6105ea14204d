"""What matters, drawn: a text shaded by its words' shares, the output as words go, and all methods beside each other."""

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.matters import (
    AttributionReport,
    MaskedOutput,
    Removals,
    WordRemovals,
    describe_attention,
    describe_colours,
    describe_output,
    describe_removal,
    removal_names,
    removal_rows,
    strongest_first,
)
from attnviz.analysis.wording import LONGEST_NAME, Part, counted, cut, percent, signed, whole_percent
from attnviz.figures.blocks import Block, Pick, PictureBlock, SentencesBlock, TextBlock
from attnviz.figures.curve import Axes, Series, lines_figure
from attnviz.figures.html import sentence_html, text_direction
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables, diverging, ink_on


def share_colours(shares: Float[np.ndarray, " word"], own: Collection[int], theme: Theme = LIGHT) -> list[str]:
    """Choose a colour for each word's share, the darkest for the one furthest from 0; `own` words have the panel's.

    >>> share_colours(np.array([0.5, -0.25, 9.0]), {2})
    ['#d55e00', '#80b8d8', '#f3f3fa']
    """
    # The output's own words are not explained, however large their shares are.
    highest = max((abs(float(share)) for place, share in enumerate(shares) if place not in own), default=0.0) or 1.0
    return [theme.panel if place in own else diverging(float(share) / highest, theme) for place, share in enumerate(shares)]


@dataclass(frozen=True)
class WordMarks:
    """What a shaded text shows of words besides their shares, by their places.

    own      the output's own words, which cannot be removed
    removed  those that were
    named    those that a sentence above is about
    begins   where another text begins, on a line of its own
    """

    own: Collection[int] = ()
    removed: Collection[int] = ()
    named: Collection[int] = ()
    begins: Collection[int] = ()


def shaded_text(
    words: Sequence[str],
    shares: Float[np.ndarray, " word"],
    marks: WordMarks = WordMarks(),
    *,
    titles: Sequence[str] = (),
    clickable: bool = True,
    theme: Theme = LIGHT,
) -> str:
    """Draw words as buttons (`data-pick` is a word's place), the strongest colour on the share that is the furthest from 0.

    `titles` are what pointing at each word says; empty: its share.

    >>> drawn = shaded_text(["a<b", "no"], np.array([0.2, -0.1]))
    >>> "a&lt;b" in drawn, drawn.count("data-pick"), "−0.1000" in drawn
    (True, 2, True)
    """
    titles = titles or [signed(float(share), "+.4f") for share in shares]
    pieces = []
    for place, (word, colour) in enumerate(zip(words, share_colours(shares, marks.own, theme), strict=True)):
        if place in marks.begins:
            pieces.append("<br>")
        text, style = f"<bdi>{html.escape(word)}</bdi>", f'style="background:{colour};color:{ink_on(colour)}"'
        if place in marks.own:
            pieces.append(f'<span class="word own">{text}</span>')
        elif not clickable:
            pieces.append(f'<span class="word" title="{html.escape(titles[place])}" {style}>{text}</span>')
        else:
            kinds = f"{'taken' * (place in marks.removed)} {'named' * (place in marks.named)}".strip()
            pressed = "true" if place in marks.removed else "false"
            pieces.append(
                f'<button class="{kinds}" data-pick="{place}" aria-pressed="{pressed}" title="{html.escape(titles[place])}" '
                f"{style}>{text}</button>"
            )
    read = text_direction(word for place, word in enumerate(words) if place not in marks.own)
    return f'<div class="shaded" dir="{read}" style="{css_variables(theme)}">{" ".join(pieces)}</div>'


_UP = tuple((1 - share, whole_percent(share)) for share in (0.0, 0.25, 0.5, 0.75, 1.0))


def deletion_figure(removals: Removals, order: str, *, theme: Theme = LIGHT) -> str:
    """Draw p(output) as the most important words go first, and as the least important ones do, in the `order` of a method.

    The further the two lines are apart, the better the order.

    >>> drawn = deletion_figure(Removals((0, 1, 2), (0.9, 0.2, 0.1), (0.9, 0.8, 0.1)), "rollout")
    >>> drawn.count("<polyline"), "1 word masked: 20\N{NO-BREAK SPACE}%" in drawn
    (2, True)
    """
    most = max(removals.gone[-1], 1)
    across = tuple((count / most, str(count)) for count in removals.gone)
    masked = [f"{counted(count, 'word')} masked" for count in removals.gone]
    lines = [
        Series(
            name, colour, tuple((x, 1 - value) for (x, _), value in zip(across, values, strict=True)),
            tuple(f"{words}: {percent(value)}" for words, value in zip(masked, values, strict=True)),
        )
        for name, values, colour in (
            ("most important first", removals.most_first, FOR), ("least important first", removals.least_first, AGAINST)
        )
    ]  # fmt: skip
    whole = percent(removals.most_first[0])
    label = f"The probability of the output falls from {whole} as words are removed in the order of {order}."
    return lines_figure(lines, Axes(across, _UP, "number of masked words · up: probability of the output", label), theme=theme)


# Where the words that attention looked at are drawn, unasked.
LOOKED = ("attention", "Where attention looked (mean of all layers)")
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


def experiment_blocks(
    report: AttributionReport,
    removals: WordRemovals,
    removed: tuple[int, ...] = (),
    after: MaskedOutput | None = None,
    *,
    looked: tuple[str, str],
    theme: Theme = LIGHT,
) -> list[Block]:
    """Say what becomes of the output without the removed words, else without the one that it needs most, and draw the text.

    A click takes a word away, or restores it.
    """
    first = strongest_first(report, removals)[0]
    alone = after or removals.output(first) or removals.before
    hint = f" {describe_colours(removals)} Click a word to take it away."
    about = Part(describe_output(report, removals)), Part(hint, hint=True)
    takes = {
        str(place): Pick({"taken": ".".join(map(str, sorted({*removed} ^ {place})))}, otherwise={"taken": str(place)})
        for place in range(len(report.words))
        if place not in report.own
    }
    return [
        *([TextBlock(report.part, "notice")] if report.part else []),
        SentencesBlock((describe_removal(report, removals, removed or (first,), alone), about)),
        PictureBlock("removals", removals_figure(report, removals, removed, after, looked=looked, theme=theme), takes),
    ]


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
        _bar(
            cut(row.name, LONGEST_NAME * len(row.places)),
            removals,
            row.probability,
            end,
            row.says,
            " named" if row.places == named else "",
            row.places,
        )
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
    """Show the same text by attention, small, and how well attention finds what matters."""
    method, heading = looked
    said = f"<p>{sentence_html(describe_attention(report, removals, method))}</p>"
    text = ""
    if method in report.shares:
        marks = WordMarks(report.own, begins=begins)
        text = shaded_text(report.words, report.shares[method], marks, clickable=False, theme=theme)
        text = f'<div class="long">{text}</div>' if len(report.words) > MANY else text
    return f'<div class="looked"><h4>{html.escape(heading)}</h4>{text}{said}</div>'


STYLE = Path(__file__).with_name("matters_text.css").read_text(encoding="utf-8")
# So many characters of a text can be read in cells of one line; of a longer one, only the colours are shown.
READABLE = 70
_OWN = " class=own"
_HEADINGS = (
    "Method", "Share of each word", "Drop without its top words (line: chance)", "Drop with only its top words",
    "Agreement with removal", "",
)  # fmt: skip


def methods_table(
    report: AttributionReport, titles: Mapping[str, str], *, chosen: str, waiting: Collection[str] = (), theme: Theme = LIGHT
) -> str:
    """Draw a row for each method of `titles`, the most faithful first; a click picks "way:" and its name.

    Below them stand those that were refused, and those `waiting`.

    >>> from attnviz.analysis.matters import Faithfulness
    >>> report = AttributionReport("it", 0.9, ("a", "<b>"), frozenset(), {"rollout": np.array([0.5, -0.2])},
    ...     {"rollout": Faithfulness(0.5, 0.1), "random": Faithfulness(0.25, 0.4)}, {}, {})
    >>> drawn = methods_table(report, {"rollout": "Rollout", "random": "Chance"}, chosen="rollout")
    >>> "&lt;b&gt;" in drawn, drawn.count("data-pick")
    (True, 1)
    """
    heads = "".join(f"<span>{name}</span>" for name in _HEADINGS)
    ranked = sorted(titles, key=lambda name: -_drop(report, name) if name in report.figures else np.inf)
    rows = [_row(report, name, titles[name], chosen, name in waiting, theme) for name in ranked]
    style = f"{css_variables(theme)};--background:{theme.background}"
    return f'<div class="ways" style="{style}"><div class="heads">{heads}</div>{"".join(rows)}</div>'


def _row(report: AttributionReport, name: str, title: str, chosen: str, waits: bool, theme: Theme) -> str:
    title = f'<span class="name">{html.escape(title)}</span>'
    if name not in report.figures:
        reason = "is running…" if waits else html.escape(report.refused.get(name, "was not run"))
        return f'<div class="way">{title}<span class="why">{reason}</span></div>'
    figures = [_drop_bar(report, name), *_figures(report, name)]
    if name == "random":
        return f'<div class="way chance">{title}<span class="strip"></span>{"".join(figures)}</div>'
    best = name == max((each for each in report.shares if each != "random"), key=lambda each: _drop(report, each))
    kind = f"way{' chosen' if name == chosen else ''}{' best' if best else ''}"
    pressed = "true" if name == chosen else "false"
    return (
        f'<button class="{kind}" data-pick="way:{html.escape(name)}" aria-pressed="{pressed}">{title}'
        f"{_strip(report.words, report.shares[name], report.own, theme)}{''.join(figures)}</button>"
    )


def _drop_bar(report: AttributionReport, name: str) -> str:
    """Draw how much p falls, as a bar beside the mark of chance."""
    drop, chance = _drop(report, name), _drop(report, "random")
    mark = f'<u style="inset-inline-start:{100 * min(max(chance, 0), 1):.1f}%"></u>' if "random" in report.figures else ""
    bar = f'<i style="width:{100 * min(max(drop, 0), 1):.1f}%"></i>'
    return f'<span class="takes"><span>{bar}{mark}</span><b class="number">{signed(drop)}</b></span>'


def _figures(report: AttributionReport, name: str) -> list[str]:
    faithfulness, agreement = report.figures[name], report.agreement(name)
    took = f"{faithfulness.milliseconds:,.0f} ms" if faithfulness.milliseconds and name != "random" else ""
    tau = "" if agreement is None or name == "random" else signed(agreement)
    return [f'<span class="figure">{each}</span>' for each in (signed(faithfulness.sufficiency), tau, took)]


def _drop(report: AttributionReport, name: str) -> float:
    return report.figures[name].comprehensiveness if name in report.figures else 0.0


def _strip(words: Sequence[str], shares: Float[np.ndarray, " word"], own: Collection[int], theme: Theme) -> str:
    """Draw the words side by side, or of a long text their colours."""
    colours = share_colours(shares, own, theme)
    if sum(map(len, words)) <= READABLE:
        cells = [
            f'<bdi{_OWN if place in own else ""} style="background:{colour};color:{ink_on(colour)};flex-grow:{len(word) + 1}">'
            f"{html.escape(word)}</bdi>"
            for place, (word, colour) in enumerate(zip(words, colours, strict=True))
        ]
        read = text_direction(word for place, word in enumerate(words) if place not in own)
        return f'<span class="strip" dir="{read}">{"".join(cells)}</span>'
    step = 100 / len(words)
    stops = ", ".join(f"{colour} {place * step:.3f}% {(place + 1) * step:.3f}%" for place, colour in enumerate(colours))
    return f'<span class="strip" style="background:linear-gradient(to right, {stops})"></span>'
