"""Steps mounted on the page: walked through in the browser, the step and the cell that are looked at in the address."""

from collections.abc import Sequence

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.compute.steps import ComputationStep
from attnviz.figures.compute.steps import SCRIPT, STYLE, Predict, computation
from attnviz.ui.bound import segments
from attnviz.ui.layout import theme
from attnviz.ui.state import publish, value

_STEPS = component("attnviz.steps", html='<div class="compute"></div>', css=STYLE, js=SCRIPT)
_PREDICT = {"off": "Off", "most": "Most", "weight": "How much"}


def predict_picker() -> Predict:
    """Whether weights are hidden until the class has guessed."""
    return segments(
        st.sidebar, "Predict, then reveal", "predict", format_func=_PREDICT.__getitem__,
        help="Hides the weights until you reveal them at the step softmax. Let the class guess first: which token gets most, "
        "or how much one of them gets.",
    )  # fmt: skip


def show_steps(steps: Sequence[ComputationStep], *, at: int, predict: Predict) -> bool:
    """The steps, opened at the place of the address, or else at step `at`; False while weights are hidden."""

    def moved() -> None:
        if (place := st.session_state.steps.moved) is not None:
            st.session_state.at = ",".join(str(int(number)) for number in place)

    def revealed() -> None:
        if (key := st.session_state.steps.revealed) is not None:
            st.session_state.revealed = str(key)

    named = value("at", "")
    place = _place(named, steps) or (at, *steps[at].start)
    publish("at", named if _place(named, steps) else "", "")
    seen = st.session_state.get("revealed", "")
    drawn = computation(steps, at=place, predict=predict, revealed=seen, theme=theme())
    _STEPS(key="steps", data=drawn, on_moved_change=moved, on_revealed_change=revealed)
    return drawn["hidden"] is None


def _place(text: str, steps: Sequence[ComputationStep]) -> tuple[int, int, int] | None:
    """Step, row and column of an address, if there is such a cell."""
    try:
        step, row, column = (int(number) for number in text.split(","))
    except ValueError:
        return None
    if not 0 <= step < len(steps):
        return None
    matrix = steps[step].result
    return (step, row, column) if 0 <= row < len(matrix.rows) and 0 <= column < len(matrix.columns) else None
