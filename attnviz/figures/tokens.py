"""The sentence itself, each token shaded by the attention that one query gives it; and a token as a label."""

import html
from collections.abc import Sequence
from unicodedata import bidirectional

from attnviz.analysis.view import HeadMatrix
from attnviz.core.trace import Token
from attnviz.figures.theme import LIGHT, Theme, ink_on

STYLE = """
.attnviz-tokens {
  display: flex; flex-wrap: wrap; gap: 4px; padding: 3px; font-size: 1.3rem; line-height: 1.5; max-height: 15rem;
  overflow-y: auto;
}
.attnviz-tokens > * { padding: 1px 6px; border: 0; border-radius: 6px; font: inherit; white-space: pre; }
.attnviz-tokens button { cursor: pointer; }
.attnviz-tokens button:hover, .attnviz-tokens button:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.attnviz-tokens .query { outline: 2px solid var(--accent); outline-offset: -1px; }
.attnviz-tokens .special { font-size: 1rem; align-self: center; }
"""


def visible_text(text: str) -> str:
    """Make the white space of a text visible. Not escaped.

    >>> visible_text("a\\nb"), visible_text("a\\tb"), visible_text("")
    ('a↵b', 'a⇥b', '␣')
    """
    shown = text.replace("\r\n", "↵").replace("\n", "↵").replace("\r", "↵").replace("\t", "⇥")
    return shown if shown.strip() else "␣"


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


def token_strip(matrix: HeadMatrix, *, query: int, theme: Theme = LIGHT) -> str:
    """Draw the keys as HTML in reading order, shaded by the weights of row `query`; the query itself is outlined.

    Tokens are escaped, right-to-left text keeps its order, and masked keys have a colour of their own. A key that has a row of
    its own is a button, whose `data-pick` is that row.
    """
    rows = {column: row for row, column in enumerate(matrix.own) if column is not None}
    words = []
    for index, token in enumerate(matrix.keys):
        weight = float(matrix.weights[query, index])
        seen = bool(matrix.visible[query, index])
        background = theme.colour(weight) if seen else theme.masked
        classes = " ".join(name for name, on in (("query", index == matrix.own[query]), ("special", token.special)) if on)
        tag, pick = ("button", f' data-pick="{rows[index]}"') if index in rows else ("span", "")
        words.append(
            f'<{tag}{pick} dir="auto" class="{classes}" title="{f"{weight:.4f}" if seen else "masked"}" '
            f'style="background:{background};color:{ink_on(background)}">{label(token)}</{tag}>'
        )
    way = f'dir="{direction(matrix.keys)}" style="--accent:{theme.accent}"'
    return f'<div class="attnviz-tokens" {way}>{"".join(words)}</div>'


def space_between(space: str) -> str:
    """Keep a blank line between two words; make everything else one space, at which a line may break."""
    return "<br><br>" if space.count("\n") > 1 else " " if space else ""
