"""The explorer's script and style, put together from their parts."""

import functools
import json
from pathlib import Path
from typing import Literal

from attnviz.figures.javascript import bundle
from attnviz.figures.theme import DARK, FONT, HEAD_COLOURS, LIGHT, Theme

FOLDER = Path(__file__).parent
_DRAWING, _WORDS = FOLDER.parent / "drawing" / "drawing.css", FOLDER / "clickable_words.css"


def style(path: Path) -> str:
    """Join the style of a picture to that which the explorer and the alignments share."""
    texts = (each.read_text(encoding="utf-8") for each in (_DRAWING, path, _WORDS))
    return "\n".join((f":is(.explorer, .alignment) {{ --font: {FONT}; }}", *texts))


STYLE = style(FOLDER / "explorer.css")


@functools.cache
def script(host: Literal["streamlit", "exported_file"]) -> str:
    """Join the whole script for a host: one ES module, with the themes as they are in Python."""
    return bundle(FOLDER / f"{host}.js", {"themes.js": themes()})


def themes() -> str:
    """Write the module with the themes as they are in Python."""
    return f"export const THEMES = {json.dumps({theme.name: _theme(theme) for theme in (LIGHT, DARK)})};\n"


def _theme(theme: Theme) -> dict[str, object]:
    names = ("name", "background", "panel", "text", "faint", "border", "accent", "masked")
    # Okabe and Ito's eighth colour is black, which is the colour of text where that is dark.
    heads = [*HEAD_COLOURS[:-1], theme.text]
    # Vermilion and blue, for numbers above and below 0: told apart by people with any common colour blindness.
    above_and_below = {"above": HEAD_COLOURS[5].lower(), "below": HEAD_COLOURS[0].lower()}
    shown = {name: getattr(theme, name) for name in names} | above_and_below
    return shown | {"scale": theme.lookup.tobytes().hex(), "heads": heads}
