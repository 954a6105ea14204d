"""Pictures made of HTML: documents of their own, tokens as labels, and the script and style that markup on a page shares."""

import html
from collections.abc import Sequence
from pathlib import Path
from unicodedata import bidirectional

from attnviz.analysis.wording import Part, Sentence, written
from attnviz.core.trace import Token
from attnviz.text.words import visible_text

SCRIPT = Path(__file__).with_name("markup.js").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("markup.css").read_text(encoding="utf-8")


def sentence_html(sentence: Sentence) -> str:
    """Write a sentence as HTML, its tokens quoted and strong.

    >>> from attnviz.analysis.wording import Part
    >>> sentence_html((Part("<s>", strong=True, quoted=True), Part(" looks away.")))
    '<strong dir="auto">“&lt;s&gt;”</strong> looks away.'
    """
    return "".join(_part_html(part) for part in sentence)


def _part_html(part: Part) -> str:
    text = html.escape(written(part))
    if part.strong:
        return f'<strong dir="auto">{text}</strong>'
    return f'<span class="hint">{text}</span>' if part.hint else text


class Page(str):
    """An HTML document, as text, that shows itself where a notebook ends a cell with it.

    >>> Page("<!doctype html><p>hi</p>")._repr_html_().startswith("<iframe srcdoc=")
    True
    """

    height = 640

    def _repr_html_(self) -> str:
        # In a frame of its own the document's style and scripts cannot meet the notebook's.
        frame = 'title="Attention" style="width:100%;border:0;background:#fff" sandbox="allow-scripts"'
        return f'<iframe srcdoc="{html.escape(self, quote=True)}" height="{self.height}" {frame}></iframe>'


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
