"""The page of a phone: one answer of the server, with style, script and question inside: a slow line waits once."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from attnviz.figures.javascript import bundle
from attnviz.figures.theme import DARK, LIGHT, Theme

_FOLDER = Path(__file__).parent / "phone"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attnviz: a class</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="phone"></main>
<script type="application/json" id="scales">{scales}</script>
<script type="application/json" id="view">VIEW</script>
<script type="module">{script}</script>
</body>
</html>
"""


@cache
def phone_script() -> str:
    """Write the script of a phone's page."""
    return bundle(_FOLDER / "join_page.js")


@cache
def phone_style() -> str:
    """Write the style of a phone's page, in the colours of the app, light and dark."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {colours(DARK)} }} }}"
    return f":root {{ {colours(LIGHT)} }}\n{dark}\n{(_FOLDER / 'phone.css').read_text(encoding='utf-8')}"


def scales() -> dict[str, tuple[str, ...]]:
    """Name the colours of weights, from 0 to 1."""
    return {theme.name: theme.scale for theme in (LIGHT, DARK)}


def phone_page(view: dict[str, Any] | None = None) -> str:
    """Write a phone's page, with what its class may see now."""
    before, after = _page()
    # Within a script nothing is escaped, and only "<" could end it.
    return f"{before}{json.dumps(view, ensure_ascii=False).replace('<', chr(92) + 'u003c')}{after}"


@cache
def _page() -> tuple[str, str]:
    before, _, after = PAGE.format(style=phone_style(), scales=json.dumps(scales()), script=phone_script()).partition("VIEW")
    return before, after


def colours(theme: Theme) -> str:
    """Name the colours of a theme as the styles of phones and projectors do."""
    names = ("background", "panel", "text", "faint", "border", "accent")
    return ";".join(f"--{name}:{getattr(theme, name)}" for name in names)
