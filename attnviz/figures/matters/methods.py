"""All methods under each other: the share of every word, and how much the output drops without the top words."""

import html
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attnviz.analysis.matters.faithfulness import AttributionReport
from attnviz.analysis.wording import signed
from attnviz.figures.matters.shaded_text import share_colours
from attnviz.figures.theme import LIGHT, Theme, css_variables, ink_on

STYLE = Path(__file__).with_name("methods.css").read_text(encoding="utf-8")
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

    >>> from attnviz.analysis.matters.faithfulness import Faithfulness
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
    """How much p falls, as a bar beside the mark of chance."""
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
    """The words side by side, or of a long text their colours."""
    colours = share_colours(shares, own, theme)
    if sum(map(len, words)) <= READABLE:
        cells = [
            f'<bdi{_OWN if place in own else ""} style="background:{colour};color:{ink_on(colour)};flex-grow:{len(word) + 1}">'
            f"{html.escape(word)}</bdi>"
            for place, (word, colour) in enumerate(zip(words, colours, strict=True))
        ]
        return f'<span class="strip" dir="auto">{"".join(cells)}</span>'
    step = 100 / len(words)
    stops = ", ".join(f"{colour} {place * step:.3f}% {(place + 1) * step:.3f}%" for place, colour in enumerate(colours))
    return f'<span class="strip" style="background:linear-gradient(to right, {stops})"></span>'
