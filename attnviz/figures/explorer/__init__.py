"""The explorer: all heads of a map at once, and any of them at full size, drawn on canvas from bytes.

Three hosts mount the same script: a Streamlit page, an HTML file, a notebook. The script is one ES module, made here of its
parts in the order in which they build on each other: a Streamlit component takes one text, and a file has nothing to import
from.
"""

import json
from pathlib import Path

from attnviz.figures.explorer.survey import MESSAGE_BYTES, Overview, chunk_name, heads_package, overview
from attnviz.figures.theme import DARK, FONT, LIGHT, Theme

_FOLDER = Path(__file__).parent
_PARTS = ("store", "paint", "pool", "grid", "picture", "matrix", "text", "bar", "explorer")


def _theme(theme: Theme) -> dict[str, str]:
    names = ("name", "background", "panel", "text", "faint", "border", "accent", "masked")
    return {name: getattr(theme, name) for name in names} | {"scale": theme.lookup.tobytes().hex()}


def script(host: str) -> str:
    """The whole script for a host, "streamlit" or "page"."""
    parts = [(_FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in (*_PARTS, host)]
    themes = json.dumps({theme.name: _theme(theme) for theme in (LIGHT, DARK)})
    return "\n".join([f"const THEMES = {themes};\n", *parts])


STYLE = f".explorer {{ --font: {FONT}; }}\n" + (_FOLDER / "explorer.css").read_text(encoding="utf-8")

__all__ = ["MESSAGE_BYTES", "STYLE", "Overview", "chunk_name", "heads_package", "overview", "script"]
