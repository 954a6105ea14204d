"""A translation token by token: how likely each was, and what the model would have written in its place."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from attnviz.core.trace import Token
from attnviz.figures.theme import LIGHT, Theme, css_variables
from attnviz.figures.tokens import label


@dataclass(frozen=True)
class Rung:
    """One token as it was written, p of it, and the likeliest pieces there, best first, with theirs.

    open  which of the pieces can be chosen to go on from; padding and the unknown mark cannot
    """

    token: Token
    probability: float
    alternatives: tuple[tuple[str, float], ...]
    open: tuple[bool, ...]


def ladder(rungs: Sequence[Rung], *, fixed: int = 0, theme: Theme = LIGHT) -> str:
    """Draw a card a token as HTML, its alternatives under it as buttons whose `data-pick` is "step:alternative".

    The first `fixed` tokens were chosen by a person.

    >>> rung = Rung(Token("a<b", 0, 3), 0.5, (("▁c", 0.5), ("<unk>", 0.25)), (True, False))
    >>> drawn = ladder([rung])
    >>> "a&lt;b" in drawn, 'data-pick="0:0"' in drawn, 'data-pick="0:1"' in drawn
    (True, True, False)
    """
    cards = "".join(_card(index, rung, index < fixed) for index, rung in enumerate(rungs))
    return f'<div class="ladder" dir="auto" style="{css_variables(theme)}">{cards}</div>'


def candidates(translations: Sequence[tuple[str, float]], *, chosen: int, theme: Theme = LIGHT) -> str:
    """Draw the translations of a search, with ln p of each, as buttons whose `data-pick` is their place."""
    rows = "".join(
        f'<button class="candidate{" chosen" if index == chosen else ""}" data-pick="{index}">'
        f'<em>{index + 1}</em><bdi>{html.escape(text) or "␣"}</bdi><em class="figure">{_signed(value)}</em></button>'
        for index, (text, value) in enumerate(translations)
    )
    return f'<div class="candidates" style="{css_variables(theme)}">{rows}</div>'


def _card(index: int, rung: Rung, fixed: bool) -> str:
    buttons = "".join(
        _alternative(f"{index}:{place}", name, value, can)
        for place, ((name, value), can) in enumerate(zip(rung.alternatives, rung.open, strict=True))
    )
    kind = " fixed" if fixed else ""
    return (
        f'<div class="rung{kind}"><div class="written"><bdi>{label(rung.token)}</bdi><em>{rung.probability:.2f}</em></div>'
        f"{buttons}</div>"
    )


def _alternative(pick: str, name: str, value: float, can: bool) -> str:
    shown = html.escape(name.replace("▁", " ").strip() or "␣", quote=False)
    action = f'data-pick="{pick}" title="Go on from here"' if can else "disabled"
    return (
        f'<button class="alternative" {action}><i style="width:{100 * min(value, 1):.1f}%"></i>'
        f"<bdi>{shown}</bdi><em>{value:.2f}</em></button>"
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
