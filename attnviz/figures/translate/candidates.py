"""The translations that a search has found."""

import html
from collections.abc import Sequence

from attnviz.figures.theme import LIGHT, Theme, css_variables


def candidates(translations: Sequence[tuple[str, float]], *, chosen: int, theme: Theme = LIGHT) -> str:
    """Draw the translations of a search, with ln p of each, as buttons whose `data-pick` is their place.

    >>> candidates([("Le <chat>.", -1.5)], chosen=0).count("Le &lt;chat&gt;.")
    1
    """
    rows = "".join(
        f'<button class="candidate{" chosen" if index == chosen else ""}" data-pick="{index}">'
        f'<em>{index + 1}</em><bdi>{html.escape(text) or "␣"}</bdi><em class="figure">{_signed(value)}</em></button>'
        for index, (text, value) in enumerate(translations)
    )
    return f'<div class="candidates" style="{css_variables(theme)}">{rows}</div>'


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
