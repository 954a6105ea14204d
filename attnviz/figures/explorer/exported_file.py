"""The explorer's script and style, put together from their parts, and as a page, a file or a frame of their own."""

import base64
import functools
import hashlib
import html
import json
from pathlib import Path
from typing import Literal

from attnviz.analysis.head_view import View
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionTrace, Kind, check_trace
from attnviz.figures.explorer.overview import BYTES_PER_CELL, overview
from attnviz.figures.html import Page, bundle
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


@functools.cache
def records_script() -> str:
    """Join the script of the pictures that are records: Python describes them, and JavaScript draws them in every host."""
    return bundle(FOLDER.parent / "streamlit.js", {"themes.js": themes()})


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


_PAGE_STYLE = (FOLDER / "exported_file.css").read_text(encoding="utf-8")
# What a browser still opens at once, before compression: 12 x 12 heads over about 700 tokens.
PAGE_BYTES = 160 * 2**20
FRAME_PIXELS = 780


class TooLargeError(AttnvizError, ValueError):
    """The weights of a trace are more than a file that a browser opens can hold."""


Place = tuple[Kind, int, int | None]


def page(trace: AttentionTrace, *, view: View | None = None, theme: Theme | None = None, opens: Place | None = None) -> Page:
    """Make an HTML document: every map of the trace, every head of it with four digits.

    `theme` None: as the reader's system is set. `opens` is the map, layer and head (None: their mean) that is seen first.

    Every token is text in it, and a browser that obeys its policy runs its own script alone and fetches nothing.

    Raises:
        ArgumentError: this is no trace.
        TooLargeError: the weights take more than 160 MB before compression.
        TraceError: the view leaves no token.

    >>> from attnviz.core.trace import AttentionMap, DenseWeights, Prompt, Token
    >>> import numpy as np
    >>> tokens = (Token("<b>", 0, 3),)
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.ones((1, 1, 1)),)))
    >>> "&lt;b&gt;" in page(AttentionTrace("mine", Prompt("<b>"), (attention,)))
    True
    """
    check_trace(trace)
    check_size(trace)
    edited = f", edited {trace.edits.text}" if trace.edits else ""
    title, text = html.escape(f"{trace.model}{edited}"), html.escape(trace.prompt.text)
    output = f'<p class="output" dir="auto">{html.escape(trace.output)}</p>' if trace.output else ""
    pair = f'<p dir="auto">{html.escape(trace.prompt.pair)}</p>' if trace.prompt.pair else ""
    opened = f' data-opens="{html.escape(json.dumps(opens))}"' if opens else ""
    packages = (overview(attention, view=view, limit=PAGE_BYTES).data for attention in trace.maps)
    scripts = (f'<script type="text/plain" data-package>{base64.b64encode(data).decode()}</script>' for data in packages)
    document = Page(_document(theme, title, f'<p dir="auto">{text}</p>{pair}{output}', opened, "\n".join(scripts)))
    document.height = FRAME_PIXELS
    return document


def template() -> str:
    """Write the document with $title, $header, $opens and $packages where a browser puts its own."""
    return _document(None, "$title", "$header", "$opens", "$packages")


def _document(theme: Theme | None, title: str, header: str, opened: str, packages: str) -> str:
    code = script("exported_file")
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}: attention</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f"<style>{_variables(theme)}\n{_PAGE_STYLE}\n{STYLE}</style>\n</head>\n<body>",
            f"<header><h1>{title}</h1>{header}</header>",
            f'<main class="attnviz" data-theme="{theme.name if theme else "auto"}"{opened}>',
            f'{packages}\n</main>\n<script type="module">{code}</script>\n</body>\n</html>',
        ]
    )


def frame(trace: AttentionTrace) -> str:
    """Frame the document for a notebook; a sentence where the trace is too large for a file."""
    try:
        return page(trace)._repr_html_()
    except TooLargeError as error:
        return f"<p>{html.escape(str(error))}</p>"


def check_size(trace: AttentionTrace) -> None:
    """Stop at a trace that is too large for a file.

    Raises:
        TooLargeError: its weights take more than 160 MB before compression.
    """
    cells = sum(each.n_layers * each.n_heads * len(each.queries) * len(each.keys) for each in trace.maps)
    if cells * BYTES_PER_CELL > PAGE_BYTES:
        raise TooLargeError(
            f"{trace.model} has {cells / 1e6:,.0f} million weights over this text, too many for one file: shorten the text, "
            "or look at it in the app, which fetches each head when it is opened."
        )


def _variables(theme: Theme | None) -> str:
    """Write the page's colours, light and dark; with a theme, both are its own."""
    named = {"light": theme or LIGHT, "dark": theme or DARK}
    colours = "".join(f"--{name}:{each.background};--{name}-text:{each.text};" for name, each in named.items())
    return f":root{{{colours}--font:{FONT}}}"
