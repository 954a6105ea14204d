"""The pictures of Compute: steps to walk through in the browser, a score split over pairs of tokens; and their files."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.compute.score_pairs import BIASES, describe_pairs
from attnviz.analysis.compute.steps import ComputationStep, first_place
from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.wording import head_name, power_of_ten
from attnviz.core.from_weights import from_weights
from attnviz.core.head_inputs import Computed, DotProduct, Tables
from attnviz.core.trace import AttentionMap, AttentionTrace
from attnviz.export.python import Source, trace_expression
from attnviz.figures.compute.pairs import STYLE as PAIRS_STYLE
from attnviz.figures.compute.pairs import pairs_table
from attnviz.figures.compute.steps import SCRIPT, STYLE, Predict, computation
from attnviz.ui.address.address_sync import publish, value
from attnviz.ui.address.widgets import fold, sent
from attnviz.ui.background.shares_and_costs import why
from attnviz.ui.download import Download, head_picture
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup

if TYPE_CHECKING:
    from attnviz.models.head_inputs import InspectedTrace

_STEPS = component("attnviz.steps", html='<div class="compute"></div>', css=STYLE, js=SCRIPT)
_PAIRS = Markup("pairs", PAIRS_STYLE)
_HOW_PAIRS = (
    "With everything below the head held fixed (attention weights, LayerNorm's σ, the ratios of activations), query and key "
    f"are sums over the typed tokens, plus what comes from no token ({BIASES}; where a model writes, also what it has "
    "written). Their product is the sum over all pairs (as Modarressi et al. 2023 decompose a state)."
)
# Digits of a weight that is written into Python: its rows still sum to 1.
_DIGITS = 8


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
            state.at = ",".join(map(str, [step, row, column, *([move["expanded"]] if move["expanded"] else [])]))
            state.at_step = symbols[step] if step < len(symbols) else None

    def revealed() -> None:
        if (key := sent("steps", "revealed")) is not None:
            state.revealed = str(key)

    default = first_place(steps, first, cell)
    place, operand = _parse_place(value("at", ""), steps, state.get("at_step"))
    seen = value("revealed", "")
    drawn = computation(steps, at=place or default, predict=predict, revealed=seen, expanded=operand, theme=theme())
    drawn["seq"] = state.get("steps_seq", 0)
    shown = ",".join(map(str, [*drawn["at"], *([operand] if operand else [])]))
    usual = ",".join(map(str, default))
    publish("at", shown, usual)
    state.update(at=shown if shown != usual else "", at_step=symbols[drawn["at"][0]] if shown != usual else None)
    publish("revealed", seen if seen == drawn["key"] else "", "")
    _STEPS(key="steps", data=[drawn], on_moved_change=moved, on_revealed_change=revealed)
    return drawn["hidden"] is None


def _parse_place(text: str, steps: Sequence[ComputationStep], symbol: str | None) -> tuple[tuple[int, int, int] | None, str]:
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


def show_score_pairs(model: str, inspected: "InspectedTrace", kind: str, place: tuple[int, int], cell: tuple[int, int]) -> None:
    """Folded: the score of a cell, split over pairs of typed tokens; `place` is layer and head, `cell` query and key.

    Nothing where the score is no plain product, or the text was edited.
    """
    inputs = inspected.head(kind, *place)
    if not isinstance(inputs, DotProduct) or inputs.softcap or inputs.bias is not None or inspected.trace.edits:
        return
    folded = fold("Why did it look there?", "why", ":material/account_tree:")
    if not folded.open:
        return
    with folded:
        if (shares := why(model, inspected.trace.prompt, (kind, *place, *cell))) is None:
            return
        score = inputs.scaling * float(inputs.query[cell[0]].astype(float) @ inputs.key[cell[1]].astype(float))
        difference = abs(shares.score - score)
        if difference > 1e-3 * max(1.0, abs(score)):
            st.info("You chose words of this translation, so its scores are not split: open the model's own translation.")
            return
        story(describe_pairs(shares, head_name(*place)))
        _PAIRS("pairs", pairs_table(shares, theme=theme()))
        st.caption(
            ":material/verified: All pairs add up to the score of these steps "
            f"(rounding error: {power_of_ten(difference)}). {_HOW_PAIRS}"
        )


def weight_download(
    name: str, trace: AttentionTrace, attention: AttentionMap, place: tuple[int, int], *, words: bool
) -> Download:
    """The head of a model whose weight is explained."""
    picture = head_picture(trace, attention.kind, HeadView(*place, View(words=words), True))
    return Download(name, picture, Source(trace_expression(name, trace.prompt)))


def example_download(tables: Tables, computed: Computed, head: int) -> Download:
    """The weights of the example that is worked out, as a trace like any other."""
    trace = from_weights(computed.weights, tables.tokens, model="worked example")
    rounded = np.round(computed.weights, _DIGITS).tolist()
    made = f"av.from_weights({rounded}, {list(tables.tokens)}, model='worked example')"
    return Download("worked example", head_picture(trace, trace.maps[0].kind, HeadView(0, head, View(), True)), Source(made))
