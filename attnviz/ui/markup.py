"""HTML that figures have made, mounted on the page: a click on what has `data-pick` comes back to Python."""

import re
from collections.abc import Callable

from streamlit.components.v2 import component

from attnviz.figures.html import SCRIPT
from attnviz.ui.address.widgets import sent

# What CommonMark, its extensions for tables, links and formulas, and Streamlit's `:red[…]` and `:material/…:` begin with.
_SIGNS = re.compile(r"[\\`*\[\]{<&~$]|(?<![^\W_])_|_(?![^\W_])|:(?=\S)|^[#+\->=|]")
_ORDERED = re.compile(r"^(\d+)(?=[.)])")
# Addresses, arrows, dashes and `:streamlit:` are found after backslashes are gone: an empty small text parts them, of which
# nothing is copied.
_REPLACED = re.compile(r"(?<=[:@])(?=\S)|(?<=www)(?=\.)|(?<=[<>~=-])(?=[<>=-])", re.IGNORECASE)
_JOINER, _NOTHING = "\u2060", ":small[]"


def escaped(text: object) -> str:
    r"""Write a text, or what an error says, as one line that Streamlit shows as it stands wherever it reads Markdown.

    Everything goes through here that is not attnviz's own: typed, from a link, out of a file, the name of a model.

    >>> print(escaped("_a_b [c]"), escaped("![x](http://x.org/y.png)") == "!\\[x\\](http\\::small[]//x.org/y.png)")
    \_a_b \[c\] True
    """
    line = _REPLACED.sub(_JOINER, " ".join(str(text).split()))
    return _ORDERED.sub(r"\1\\", _SIGNS.sub(r"\\\g<0>", line)).replace(_JOINER, _NOTHING)


class Markup:
    """A component of its own name and style; call it with a key, the HTML, and what is to be done with what is picked."""

    def __init__(self, name: str, style: str) -> None:
        self._mount = component(f"attnviz.{name}", html='<div class="markup"></div>', css=style, js=SCRIPT)

    def __call__(self, key: str, body: str, on_pick: Callable[[str], None] | None = None) -> None:
        def picked() -> None:
            if on_pick and (value := sent(key, "picked")) is not None:
                on_pick(value)

        # In a list: of a bare text Streamlit imports pandas, half a second, to see whether it is a table.
        self._mount(key=key, data=[body], on_picked_change=picked)
