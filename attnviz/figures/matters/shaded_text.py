"""A text shaded by the shares of its words: orange where a share is positive, blue where it is negative."""

import html
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import signed
from attnviz.figures.theme import LIGHT, Theme, diverging, ink_on

STYLE = """
.shaded { line-height: 2; font-size: 1rem; overflow-wrap: anywhere; }
.markup[data-presenting] .shaded { font-size: 14px; line-height: 1.6; }
.shaded button, .shaded span.word { font: inherit; border: 0; border-radius: 4px; padding: 0.1rem 0.28rem; margin: 0 1px; }
.shaded button { cursor: pointer; }
.shaded button:hover, .shaded button:focus-visible { outline: 3px solid var(--accent); outline-offset: 1px; }
.shaded .named { position: relative; z-index: 1; box-shadow: 0 0 0 2px var(--text); font-weight: 600; }
.shaded .taken { text-decoration: line-through; opacity: 0.55; outline: 1px dashed var(--faint); }
.shaded span.own { background: transparent; color: var(--text); border-bottom: 3px solid var(--accent); border-radius: 0; }
@media (pointer: coarse) {
  .markup .shaded button { min-height: 44px; min-width: 44px; margin: 1px; text-align: center; }
}
"""


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
    variables = f"--accent:{theme.accent};--text:{theme.text};--faint:{theme.faint}"
    return f'<div class="shaded" dir="auto" style="{variables}">{" ".join(pieces)}</div>'
