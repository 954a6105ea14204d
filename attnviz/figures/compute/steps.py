"""A computation on the page: steps to walk through, matrices whose cells tell where they came from.

The drawing is done in the browser, so that a step costs no time; what it draws is made here, as plain values.
"""

import hashlib
import html
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from attnviz.analysis.compute.steps import BIASES, ComputationStep, Matrix, PairShares, rest_of
from attnviz.analysis.wording import signed
from attnviz.figures.explorer.script import themes
from attnviz.figures.html import bundle
from attnviz.figures.theme import AGAINST, FOR, LIGHT, Theme, css_variables
from attnviz.text.words import visible_text

SCRIPT = bundle(Path(__file__).with_name("steps.js"), {"themes.js": themes()})
STYLE = Path(__file__).with_name("steps.css").read_text(encoding="utf-8")
Predict = Literal["off", "most", "weight"]
# It stands in the address of what was revealed.
KEY_CHARACTERS = 16
PREDICTS: tuple[Predict, ...] = get_args(Predict)


def computation(
    steps: Sequence[ComputationStep],
    *,
    at: tuple[int, int, int] | None = None,
    predict: Predict = "off",
    revealed: str = "",
    expanded: str = "",
    theme: Theme = LIGHT,
) -> dict[str, Any]:
    """Describe everything that steps.js draws. `at` is the step and the cell of its result to open with.

    `predict` asks a class which token gets most of a row ("most"), or how much the chosen one gets ("weight"). Until `revealed`
    is the `key` of what is drawn, it holds no weight, and nothing that is computed from one; `hidden` is the step that asks,
    and the last that is looked at. `expanded` is a cell of the step whose own sum is written out, as "Q:0:1".

    >>> import numpy as np
    >>> step = ComputationStep("X", "Tokens", "X", "As typed.", (Matrix("X", np.array([[0.5]]), ("a<b",), ("0",)),))
    >>> drawn = computation([step])
    >>> drawn["steps"][0]["matrices"][0]["rows"], drawn["steps"][0]["matrices"][0]["cells"][0][0]["text"]
    (['a<b'], '0.50')
    """
    content = {"steps": [_step(step) for step in steps], "origins": _origins(steps), "predict": predict}
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:KEY_CHARACTERS]
    weights_step = next((index for index, step in enumerate(steps) if step.result.weights), None)
    hidden = None if predict == "off" or revealed == key else weights_step
    if hidden is not None:
        content = _without_weights(content, hidden)
    step, *cell = at or (0, *steps[0].start)
    last = step if hidden is None else min(step, hidden)
    shape = len(steps[last].result.rows), len(steps[last].result.columns)
    cell = cell if all(index < size for index, size in zip(cell, shape, strict=True)) else steps[last].start
    return {
        **content, "key": key, "hidden": hidden, "at": [last, *cell], "expanded": expanded or None, "theme": theme.name,
    }  # fmt: skip


def _without_weights(content: dict[str, Any], hidden: int) -> dict[str, Any]:
    """Keep the steps up to the weights, which become question marks; of the later ones, keep their names."""
    *known, weights_step = content["steps"][: hidden + 1]
    *operands, weights = weights_step["matrices"]
    cells = [[{name: cell[name] for name in ("id", "masked") if name in cell} | {"text": "?"} for cell in row]
             for row in weights["cells"]]  # fmt: skip
    weights_step = {**weights_step, "sentence": "", "matrices": [*operands, {**weights, "cells": cells}]}
    later = [{**step, "formula": "", "sentence": "", "matrices": []} for step in content["steps"][hidden + 1 :]]
    origins = {name: origin for name, origin in content["origins"].items() if origin["step"] < hidden}
    return {**content, "steps": [*known, weights_step, *later], "origins": origins}


def _step(step: ComputationStep) -> dict[str, Any]:
    return {
        "symbol": step.symbol,
        "title": step.title,
        "formula": step.formula,
        "sentence": step.sentence,
        "signs": list(step.signs),
        "start": list(step.start),
        "matrices": [_matrix(matrix) for matrix in step.matrices],
    }


def _matrix(matrix: Matrix) -> dict[str, Any]:
    n_rows, n_columns = len(matrix.rows), len(matrix.columns)
    return {
        "name": matrix.name,
        "label": matrix.label or matrix.name,
        "shape": matrix.shape,
        "rows": [visible_text(name) if name else "" for name in matrix.rows],
        "columns": [visible_text(name) if name else "" for name in matrix.columns],
        "totals": list(matrix.totals),
        "blocks": matrix.blocks,
        "weights": matrix.weights,
        "cells": [[_cell(matrix, row, column) for column in range(n_columns)] for row in range(n_rows)],
    }


def _cell(matrix: Matrix, row: int, column: int) -> dict[str, Any]:
    value, seen = float(matrix.values[row, column]), matrix.visible is None or bool(matrix.visible[row, column])
    cell: dict[str, Any] = {"id": _id(*matrix.place(row, column)), "text": matrix.shown[row][column]}
    if math.isfinite(value):
        cell["exact"] = signed(value, ".8g")
    if not seen:
        cell["masked"] = True
    elif matrix.weights:
        cell["value"] = value
    return cell


def _origins(steps: Sequence[ComputationStep]) -> dict[str, Any]:
    """List for each computed cell its step, the cells it came from, and the sum as pieces of (text, matrix)."""
    origins: dict[str, Any] = {}
    for index, step in enumerate(steps):
        for (row, column), origin in step.origins.items():
            origins[_id(*step.result.place(row, column))] = {
                "step": index,
                "from": [_id(*place) for place in origin.cells],
                "sum": [[part.text, part.of] for part in origin.sum],
            }
    return origins


def _id(name: str, row: int, column: int) -> str:
    return f"{name}:{row}:{column}"


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
