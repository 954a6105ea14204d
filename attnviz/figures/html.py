"""Pictures made of HTML: documents of their own, and the script and style that markup on a page shares."""

import html
from pathlib import Path

SCRIPT = Path(__file__).with_name("markup.js").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("markup.css").read_text(encoding="utf-8")


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
