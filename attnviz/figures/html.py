"""Pictures made of HTML: documents of their own, and the script and style that markup on a page shares."""

import html
from pathlib import Path

from attnviz.analysis.wording import Part, Sentence, written

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
