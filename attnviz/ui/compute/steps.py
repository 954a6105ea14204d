"""Steps mounted on the page: walked through in the browser, the step and the cell that are looked at in the address."""

from collections.abc import Sequence

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.compute.steps import ComputationStep
from attnviz.figures.compute.steps import SCRIPT, STYLE, Predict, computation
from attnviz.ui.address.state import publish, value
from attnviz.ui.address.widgets import segments, sent
from attnviz.ui.layout import theme

_STEPS = component("attnviz.steps", html='<div class="compute"></div>', css=STYLE, js=SCRIPT)
_PREDICT = {"off": "Off", "most": "Most", "weight": "How much"}


def predict_picker() -> Predict:
    """Whether weights are hidden until the class has guessed."""
    return segments(
        st.sidebar, "Predict, then reveal", "predict", format_func=_PREDICT.__getitem__,
        help="Hides the weights until you reveal them at the step softmax. Let the class guess first: which token gets most, "
        "or how much one of them gets.",
    )  # fmt: skip


def show_steps(
    steps: Sequence[ComputationStep], *, first: str = "", cell: tuple[int, int] | None = None, predict: Predict
) -> bool:
    """The steps, opened at the place of the address, or else at the step of symbol `first`; False while weights are hidden.

    `cell` is the row and the column of that step's result to open with, where it has them.
    """
    state, symbols = st.session_state, [step.symbol for step in steps]

    def moved() -> None:
        if (move := sent("steps", "moved")) is not None:
            state.steps_seq = int(move["seq"])
            step, row, column = map(int, move["at"])
            state.at = ",".join(map(str, [step, row, column, *([move["asked"]] if move["asked"] else [])]))
            state.at_step = symbols[step] if step < len(symbols) else None

    def revealed() -> None:
        if (key := sent("steps", "revealed")) is not None:
            state.revealed = str(key)

    unasked = _unasked(steps, first, cell)
    place, operand = _place(value("at", ""), steps, state.get("at_step"))
    seen = value("revealed", "")
    drawn = computation(steps, at=place or unasked, predict=predict, revealed=seen, asked=operand, theme=theme())
    drawn["seq"] = state.get("steps_seq", 0)
    shown = ",".join(map(str, [*drawn["at"], *([operand] if operand else [])]))
    usual = ",".join(map(str, unasked))
    publish("at", shown, usual)
    state.update(at=shown if shown != usual else "", at_step=symbols[drawn["at"][0]] if shown != usual else None)
    publish("revealed", seen if seen == drawn["key"] else "", "")
    _STEPS(key="steps", data=drawn, on_moved_change=moved, on_revealed_change=revealed)
    return drawn["hidden"] is None


def _unasked(steps: Sequence[ComputationStep], first: str, cell: tuple[int, int] | None) -> tuple[int, int, int]:
    """Step, row and column that are opened with where the address says none; the first step where there is no such."""
    at = next((index for index, each in enumerate(steps) if each.symbol == first), 0)
    rows, columns = len(steps[at].result.rows), len(steps[at].result.columns)
    inside = cell is not None and cell[0] < rows and cell[1] < columns
    return (at, *(cell if cell is not None and inside else steps[at].start))


def _place(text: str, steps: Sequence[ComputationStep], symbol: str | None) -> tuple[tuple[int, int, int] | None, str]:
    """Step, row and column of an address, and the operand's cell whose sum is written out; None if there is no such step.

    `symbol` is what the step was called when it was looked at: among other steps it may have another number.
    """
    try:
        step, row, column, *cell = text.split(",")
        place = int(step), int(row), int(column)
    except ValueError:
        return None, ""
    named = next((index for index, each in enumerate(steps) if each.symbol == symbol), place[0])
    if not 0 <= named < len(steps) or min(place) < 0:
        return None, ""
    matrix = steps[named].result
    if place[1] >= len(matrix.rows) or place[2] >= len(matrix.columns):
        return (named, *steps[named].start), ""
    return (named, *place[1:]), cell[0] if cell else ""
