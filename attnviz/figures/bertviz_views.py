"""BertViz's head view and model view (Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model").

Each is one HTML document that asks the network for nothing. The drawing code is BertViz's own, read from the installed
package; it expects require.js, jQuery and d3 from a server, so they are given to it here: jQuery and d3 from the packages that
carry them, require.js as the two functions that BertViz calls.
"""

import functools
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from attnviz.analysis.head_view import BETWEEN, Lens, View
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap, Token
from attnviz.figures.theme import FONT, HEAD_COLOURS, LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("bertviz_views.css").read_text(encoding="utf-8")
TOKEN_LIMIT: int = 100
# Chromium needs about 2 s on one core for 100,000 lines; GPT-2's 144 heads of 100 tokens are the most that is worth the wait.
WEIGHT_LIMIT: int = 1_500_000
# Steps of 0.0001 are finer than the 256 levels of opacity that a screen shows.
DECIMALS = 4
MARKER = "PYTHON_PARAMS"
# A browser that obeys this runs what is in the document and fetches nothing, whatever a token says.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"
HINTS = {
    "head": "Point at a token to see its links. Click a colour to switch that head off, double-click to see it alone.",
    "model": "Click a picture to enlarge it.",
}
# BertViz draws at one width. The head view's tokens stand 110 px wide on both sides, and all of it is enlarged by 1.2.
WIDTHS = {
    "const MATRIX_WIDTH = 115;": "const MATRIX_WIDTH = Math.max(115, "
    "(document.documentElement.clientWidth - 2 * window.parameters.overhang) / 1.2 - 2 * BOXWIDTH - 30);",
    "const DIV_WIDTH = 970;": "const DIV_WIDTH = Math.max(970, document.documentElement.clientWidth - 4);",
}
REQUIRE = """
window.require = { config() {} };
window.requirejs = (names, draw) => draw(window.jQuery, window.d3);
window.parameters = JSON.parse(document.getElementById("parameters").textContent);
d3.schemeCategory10 = window.parameters.colours;
"""


class TooManyTokensError(AttnvizError, ValueError):
    """The text is too long for BertViz, which draws every weight as an element of the page."""


def head_view(attention: AttentionMap, *, layer: int | None = None, view: View | None = None, theme: Theme = LIGHT) -> str:
    """Draw one layer at a time: a line for every weight, a colour for every head. It opens at `layer`, else at the first.

    The lines' opacity is the weight divided by the number of heads shown. Of a pair, a menu chooses between which sentences.

    Raises:
        TooManyTokensError: more than 100 tokens, or 1.5 million weights, would be shown.
        TraceError: there is no such layer, or the view leaves no token.
    """
    if layer is not None:
        attention.visible(layer)
    return _document("head", attention, {"layer": layer, "heads": None}, view or View(), theme)


def model_view(attention: AttentionMap, *, view: View | None = None, theme: Theme = LIGHT) -> str:
    """Draw every head as a small picture, layers down and heads across; a click on one enlarges it. Opacity is the weight.

    Raises:
        TooManyTokensError: more than 100 tokens, or 1.5 million weights, would be shown.
        TraceError: the view leaves no token.
    """
    heads = list(range(attention.n_heads))
    # BertViz divides its width and a height of 84 px a token by the number of heads: few heads would fill the page.
    options = {"display_mode": theme.name, "include_heads": heads, "total_heads": max(attention.n_heads, 6)}
    return _document("model", attention, options, view or View(), theme)


def _document(name: Literal["head", "model"], attention: AttentionMap, options: dict, view: View, theme: Theme) -> str:
    parts = _parts(attention, view)
    names = [part["name"] for part in parts]
    parameters = {
        "attention": parts,
        "default_filter": str(names.index(_label(view.between)) if len(parts) > 1 else 0),
        "root_div_id": "bertviz",
        "include_layers": list(range(attention.n_layers)),
        **options,
    }
    overhang = _overhang(parts[0]["left_text"])
    # d3's ten colours are replaced by the heads' own. BertViz takes ten; twice the eight go round evenly.
    parameters |= {"colours": [*HEAD_COLOURS[:-1], theme.text] * 2, "overhang": overhang}
    variables = f":root{{color-scheme:{theme.name};--font:{FONT};--overhang:{overhang}px;{css_variables(theme)}}}"
    # `<` is written \u003c, so that a token cannot end the element; json writes the line separators of Unicode so too.
    data = json.dumps(parameters, separators=(",", ":")).replace("<", "\\u003c")
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>BertViz: {name} view</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<style>\n{variables}\n{STYLE}</style>\n</head>\n<body>",
            f'<div id="bertviz" class="{name}">{_controls(name, names, view)}<p>{HINTS[name]}</p><div id="vis"></div></div>',
            f'<script type="application/json" id="parameters">{data}</script>',
            *(f"<script>{script}</script>" for script in _scripts(name)),
            "</body>\n</html>",
        ]
    )


def scripts() -> set[str]:
    """List the scripts of these documents: the same whatever they show, so that a page can allow these and nothing else."""
    return {script for name in HINTS for script in _scripts(name)}


def _scripts(name: str) -> tuple[str, ...]:
    return (
        _package_text("sphinxcontrib.jquery", "jquery.js"),
        _package_text("mpld3", "js/d3.v5.min.js"),
        REQUIRE,
        _fitting(_package_text("bertviz", f"{name}_view.js")).replace(MARKER, "window.parameters"),
    )


def _fitting(script: str) -> str:
    """Widen the drawing from BertViz's own width to that of the page it is in.

    Raises:
        AttnvizError: another BertViz is installed, whose width is not known.
    """
    for constant, value in WIDTHS.items():
        if constant in script:
            return script.replace(constant, value)
    raise AttnvizError("The installed BertViz draws at a width that attnviz does not know: install attnviz again.")


def _parts(attention: AttentionMap, view: View) -> list[dict]:
    """Make what BertViz calls attention: the whole map, and of a pair each sentence to each."""
    typed = ({token.segment for token in axis if not token.special} for axis in (attention.queries, attention.keys))
    is_pair = all(segments >= {0, 1} for segments in typed)
    lenses = {between: Lens(attention, replace(view, between=between)) for between in (BETWEEN if is_pair else (view.between,))}
    for lens in lenses.values():
        _check_size(attention, max(len(lens.queries), len(lens.keys)))
    layers = {between: [] for between in lenses}
    for layer in range(attention.n_layers):
        weights, visible = attention.layer_weights(layer), attention.visible(layer)
        for between, lens in lenses.items():
            matrices = (lens.matrix(head, visible).weights for head in weights)
            layers[between].append([np.round(matrix.astype(np.float64), DECIMALS).tolist() for matrix in matrices])
    return [
        {"name": _label(between), "attn": layers[between], "left_text": _texts(lens.queries), "right_text": _texts(lens.keys)}
        for between, lens in lenses.items()
    ]


def _check_size(attention: AttentionMap, tokens: int) -> None:
    lines = attention.n_layers * attention.n_heads * tokens**2
    if tokens <= TOKEN_LIMIT and lines <= WEIGHT_LIMIT:
        return
    limit = f"{TOKEN_LIMIT} tokens" if tokens > TOKEN_LIMIT else f"{WEIGHT_LIMIT:,} lines"
    raise TooManyTokensError(
        f"BertViz writes every weight as text and draws it as a line of its own; {tokens} tokens would be {lines:,} lines, "
        f"so it is not drawn above {limit}: open Grid instead, or shorten the text."
    )


def _texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text for token in tokens]


def _label(between: str) -> str:
    """Name a choice of the menu.

    >>> _label("first-second")
    'First to second'
    """
    return between.replace("-", " to ").capitalize()


def _controls(name: str, names: list[str], view: View) -> str:
    menus = []
    if name == "head":
        menus.append('<label>Layer<select id="layer"></select></label>')
    if len(names) > 1:
        chosen = _label(view.between)
        options = (f'<option value="{i}"{" selected" * (label == chosen)}>{label}</option>' for i, label in enumerate(names))
        menus.append(f'<label>Sentences<select id="filter">{"".join(options)}</select></label>')
    return f'<div class="controls">{"".join(menus)}</div>' if menus else ""


def _overhang(texts: list[str]) -> int:
    """Measure by how many pixels the longest token on the left is wider than the 110 px that BertViz has for it."""
    # At 15 px a letter is about 9 px wide, a character of Chinese, Japanese or Korean 15.
    widest = max(sum(15 if character >= "\u2e80" else 9 for character in text) for text in texts)
    return min(max(widest - 100, 0), 400)


@functools.cache
def _package_text(package: str, path: str) -> str:
    """Read a file of an installed package, without importing it: mpld3 would bring matplotlib, BertViz torch."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise AttnvizError(f"The BertViz views need the package {package}: install attnviz again.")
    return (Path(spec.origin).parent / path).read_text(encoding="utf-8")
