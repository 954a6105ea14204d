"""The page of a phone: one answer of the server, with its style and its script inside, so that a slow line waits once."""

import json
from functools import cache
from pathlib import Path

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
<script type="module">{script}</script>
</body>
</html>
"""


@cache
def phone_script() -> str:
    """Write the script of a phone's page."""
    return bundle(_FOLDER / "web.js")


@cache
def phone_style() -> str:
    """Write the style of a phone's page, in the colours of the app, light and dark."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {colours(DARK)} }} }}"
    return f":root {{ {colours(LIGHT)} }}\n{dark}\n{(_FOLDER / 'phone.css').read_text(encoding='utf-8')}"


def scales() -> dict[str, tuple[str, ...]]:
    """Name the colours of weights, from 0 to 1."""
    return {theme.name: theme.scale for theme in (LIGHT, DARK)}


@cache
def phone_page() -> str:
    """Write a phone's page."""
    return PAGE.format(style=phone_style(), scales=json.dumps(scales()), script=phone_script())


def colours(theme: Theme) -> str:
    """Name the colours of a theme as the styles of phones and projectors do."""
    names = ("background", "panel", "text", "faint", "border", "accent")
    return ";".join(f"--{name}:{getattr(theme, name)}" for name in names)
