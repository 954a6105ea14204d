"""A computation on the page: steps to walk through, matrices whose cells tell where they came from.

Words, layout and drawing are the browser's, so that a step costs no time; the numbers are given to it as plain values.
"""

import hashlib
import html
import json
from pathlib import Path
from typing import Any, Literal

from attnviz.analysis.compute import BIASES, Computation, PairShares, rest_of
from attnviz.analysis.wording import counted, signed
from attnviz.figures.explorer.exported_file import themes
from attnviz.figures.html import bundle
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables

SCRIPT = bundle(Path(__file__).with_name("step_by_step.js"), {"themes.js": themes()})
STYLE = Path(__file__).with_name("steps.css").read_text(encoding="utf-8")
Predict = Literal["off", "most", "weight"]
# It stands in the address of what was revealed.
KEY_CHARACTERS = 16


def computation(
    steps: Computation,
    *,
    at: tuple[int, int, int] | None = None,
    predict: Predict = "off",
    revealed: str = "",
    expanded: str = "",
    theme: Theme = LIGHT,
) -> dict[str, Any]:
    """Describe everything that step_by_step.js draws. `at` is the step and the cell of its result to open with.

    `predict` asks a class which token gets most of a row ("most"), or how much the chosen one gets ("weight"). Until `revealed`
    is the `key` of what is drawn, it holds no weight, and nothing that is computed from one; `hidden` is the step that asks,
    and the last that is looked at. `expanded` is a cell of the step whose own sum is written out, as "Q:0:1".
    """
    symbols = [place.symbol for place in steps.places]
    content: dict[str, Any] = {"known": steps.known, "mixed": steps.mixed, "symbols": symbols, "predict": predict}
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:KEY_CHARACTERS]
    hidden = None if predict == "off" or revealed == key else steps.weights_step
    if hidden is not None:
        content["mixed"] = None
    step, *cell = at or (0, *steps.places[0].start)
    place = steps.places[last := step if hidden is None else min(step, hidden)]
    return {
        **content, "key": key, "hidden": hidden, "at": [last, *(cell if place.has(cell) else place.start)],
        "expanded": expanded or None, "theme": theme.name,
    }  # fmt: skip


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
        rows.append(_row("rest", (counted(others, "other pair"), ""), rest, highest))
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
