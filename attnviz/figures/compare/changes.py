"""The links that changed most in a head, as a table."""

import html
from collections.abc import Sequence

from attnviz.analysis.compare.comparison import Change
from attnviz.figures.theme import LIGHT, Theme, css_variables

_HEADINGS = (("Looks → at", ""), ("Was", " class=figure"), ("Is", " class=figure"), ("Change", " class=figure"))


def changes_table(changes: Sequence[Change], *, theme: Theme = LIGHT) -> str:
    """Draw who looks at whom, the weight before and after, and the change, the largest first."""
    headings = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in _HEADINGS)
    rows = "".join(map(_row, changes))
    table = f'<table class="changes"><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div style="{css_variables(theme)}">{table}</div>'


def _row(change: Change) -> str:
    names = " → ".join(f"<bdi>{html.escape(token.text)}</bdi>" for token in (change.query, change.key))
    moved = f"{change.now - change.was:+.2f}".replace("-", "−")
    figures = "".join(f'<td class="figure">{figure}</td>' for figure in (f"{change.was:.2f}", f"{change.now:.2f}", moved))
    return f"<tr><td>{names}</td>{figures}</tr>"
