"""The explorer's script and style, put together from their parts."""

import functools
import json
from pathlib import Path
from typing import Literal

from attnviz.figures.theme import DARK, FONT, HEAD_COLOURS, LIGHT, Theme

FOLDER = Path(__file__).parent
# In the order in which they build on each other.
PARTS = ("store", "look", "paint", "pool", "sketch", "grid", "picture", "matrix", "chips", "arcs", "text", "bar", "explorer")
STYLE = f".explorer {{ --font: {FONT}; }}\n" + (FOLDER / "explorer.css").read_text(encoding="utf-8")


@functools.cache
def script(host: Literal["streamlit", "page"]) -> str:
    """Join the whole script for a host: one ES module.

    It is made of parts because a Streamlit component takes one text, and a file that is opened from disk may import nothing.
    """
    themes = json.dumps({theme.name: _theme(theme) for theme in (LIGHT, DARK)})
    parts = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in (*PARTS, host)]
    return "\n".join([f"const THEMES = {themes};\n", *parts])


def _theme(theme: Theme) -> dict[str, object]:
    names = ("name", "background", "panel", "text", "faint", "border", "accent", "masked")
    # Okabe and Ito's eighth colour is black, which is the colour of text where that is dark.
    heads = [*HEAD_COLOURS[:-1], theme.text]
    return {name: getattr(theme, name) for name in names} | {"scale": theme.lookup.tobytes().hex(), "heads": heads}
