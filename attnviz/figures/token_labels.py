"""A token as a label, and which way a text is read."""

import html
from collections.abc import Sequence
from unicodedata import bidirectional

from attnviz.core.trace import Token
from attnviz.text.words import visible_text


def label(token: Token) -> str:
    """Write a token as a label in HTML: as it is shown, escaped.

    >>> label(Token("<s>", 0, 0, special=True)), label(Token(" ", 3, 4))
    ('&lt;s&gt;', '␣')
    """
    return html.escape(visible_text(token.text), quote=False)


def direction(tokens: Sequence[Token]) -> str:
    """Tell which way a text is read, "ltr" or "rtl": by its first letter that has a direction (Unicode annex 9, rule P2).

    A special token such as [CLS] was not typed, and does not count.

    >>> direction([Token("[CLS]", 0, 0, special=True), Token("مرحبا", 0, 5)])
    'rtl'
    """
    letters = (bidirectional(character) for token in tokens if not token.special for character in token.text)
    return "rtl" if next((letter for letter in letters if letter in ("L", "R", "AL")), "L") != "L" else "ltr"


def space_between(space: str) -> str:
    """Keep a blank line between two words; make everything else one space, at which a line may break."""
    return "<br><br>" if space.count("\n") > 1 else " " if space else ""
