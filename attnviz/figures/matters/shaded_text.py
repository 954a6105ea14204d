"""A text shaded by the shares of its words: orange where a share is positive, blue where it is negative."""

import html
from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import signed
from attnviz.figures.theme import LIGHT, Theme, diverging, ink_on

STYLE = """
.shaded { line-height: 2; font-size: 1rem; overflow-wrap: anywhere; }
.markup[data-presenting] .shaded { font-size: 14px; line-height: 1.6; }
.shaded button, .shaded span.word { font: inherit; border: 0; border-radius: 4px; padding: 0.1rem 0.28rem; margin: 0 1px; }
.shaded button { cursor: pointer; }
.shaded button:hover, .shaded button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
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


def shaded_text(
    words: Sequence[str],
    shares: Float[np.ndarray, " word"],
    *,
    own: Collection[int] = (),
    removed: Collection[int] = (),
    theme: Theme = LIGHT,
) -> str:
    """Draw words as buttons (`data-pick` is a word's place), the darkest the one whose share is the furthest from 0.

    `own` are the output's own words, which cannot be removed; `removed` are those that were.

    >>> drawn = shaded_text(["a<b", "no"], np.array([0.2, -0.1]))
    >>> "a&lt;b" in drawn, drawn.count("data-pick"), "−0.1000" in drawn
    (True, 2, True)
    """
    pieces = []
    for place, (word, share, colour) in enumerate(zip(words, shares, share_colours(shares, own, theme), strict=True)):
        if place in own:
            pieces.append(f'<span class="word own"><bdi>{html.escape(word)}</bdi></span>')
            continue
        kind = ' class="taken"' if place in removed else ""
        pressed = "true" if place in removed else "false"
        pieces.append(
            f'<button{kind} data-pick="{place}" aria-pressed="{pressed}" title="{signed(float(share), "+.4f")}" '
            f'style="background:{colour};color:{ink_on(colour)}"><bdi>{html.escape(word)}</bdi></button>'
        )
    variables = f"--accent:{theme.accent};--text:{theme.text};--faint:{theme.faint}"
    return f'<div class="shaded" dir="auto" style="{variables}">{" ".join(pieces)}</div>'
