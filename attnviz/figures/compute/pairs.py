"""The pairs of a score as bars, positive in red and negative in blue, which add up to it."""

import html
from pathlib import Path

from attnviz.analysis.compute.score_pairs import BIASES, PairShares, rest_of
from attnviz.analysis.wording import signed
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables

STYLE = Path(__file__).with_name("pairs.css").read_text(encoding="utf-8")


def pairs_table(shares: PairShares, *, most: int = 8, theme: Theme = LIGHT) -> str:
    """Draw the largest pairs of a score, what all others add, and their sum.

    >>> import numpy as np
    >>> from attnviz.core.trace import Token
    >>> drawn = pairs_table(PairShares((Token("<s>", 0, 3),), np.array([[2.0, -0.5], [0.25, 0.0]]), 1.75))
    >>> "&lt;s&gt;" in drawn, "+1.75" in drawn
    (True, True)
    """
    pairs, givers = shares.largest(most), shares.givers
    rest = rest_of(shares, pairs)
    highest = max(abs(shares.score), abs(rest), *(abs(pair.share) for pair in pairs)) or 1.0
    rows = [_row("", (_giver(givers[pair.query_giver]), _giver(givers[pair.key_giver])), pair.share, highest) for pair in pairs]
    if (others := shares.values.size - len(pairs)) > 0:
        rows.append(_row("rest", (f"{others:,} other pairs", ""), rest, highest))
    rows.append(_row("total", ("The score q·k / √d", ""), shares.score, highest))
    headings = (("By way of the query", ""), ("By way of the key", ""), ("", ""), ("Adds", " class=figure"))
    heads = f"<tr>{''.join(f'<th scope=col{kind}>{name}</th>' for name, kind in headings)}</tr>"
    style = f"{css_variables(theme)};--for:{FOR};--against:{AGAINST}"
    return f'<div style="{style}"><table class="pairs"><thead>{heads}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _row(kind: str, names: tuple[str, str], share: float, highest: float) -> str:
    cells = f"<td>{names[0]}</td><td>{names[1]}</td>" if names[1] else f'<td colspan="2">{names[0]}</td>'
    width = 50 * abs(share) / highest
    left = 50 - width if share < 0 else 50
    bar = f'<i{" class=against" if share < 0 else ""} style="left:{left:.2f}%;width:{width:.2f}%"></i>'
    figure = f'<td class="figure">{signed(share, "+.2f")}</td>'
    return f'<tr class="{kind}">{cells}<td class="signed"><span>{bar}</span></td>{figure}</tr>'


def _giver(name: str) -> str:
    return f'<span class="none">{name}</span>' if name == BIASES else f'<bdi dir="auto">{html.escape(name)}</bdi>'
