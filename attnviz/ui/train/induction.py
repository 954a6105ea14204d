"""The topic induction on the page Train: models of attention alone, one layer and two, learn side by side."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.wording import whole_percent
from attnviz.figures import html as shared
from attnviz.figures.train import STYLE, Curve, curves
from attnviz.training.background_run import MOST_COURTESY_SECONDS
from attnviz.training.induction import InductionLook, InductionRecipe, train_in_turn
from attnviz.ui.address.address_sync import bounded
from attnviz.ui.background.jobs import PRIORITY
from attnviz.ui.layout import Markup, theme
from attnviz.ui.train.view import training_line

_markup = Markup("induction", shared.STYLE + STYLE)
_SCORES = (lambda look: look.previous, lambda look: look.induction)
_HOW = """
Each text is a few letters in a random order, then the same letters again: what follows a letter is what followed it before.
Texts differ in length, so no fixed distance helps. A head that looks at **what followed the same letter before** (an
*induction head*) needs keys that know which letter stood before theirs, and only a layer below can tell them: a
**previous-token head**. So one layer cannot do it, and in two layers the loss falls to nothing as both appear
(Olsson et al. 2022, *In-context Learning and Induction Heads*; Elhage et al. 2021). Both scores are mean weights, of the best
head, on texts that are not learned from.
"""


def watch_induction() -> None:
    """Draw the button Start, and the curves of both models as they learn."""
    seed = bounded(st.sidebar, "First weights", "first", help="Decides the first weights and all texts.")
    recipes = [InductionRecipe(n_layers=layers, seed=int(seed)) for layers in (1, 2)]
    state = st.session_state
    histories: dict[int, tuple[list[InductionLook], ...]] = state.get("induction", {})
    begin = st.button(
        "Train again" if seed in histories else "Start", key="start", type="primary", icon=":material/play_arrow:"
    )
    place = st.empty()
    if begin:
        histories = {seed: ([], [])}
        state["induction"] = histories
        with _turn(place):
            for number, look in train_in_turn(recipes):
                histories[seed][number].append(look)
                # Others go first, but not for ever.
                PRIORITY.give_way(MOST_COURTESY_SECONDS)
                if number == 1:
                    _draw(place, recipes, histories[seed])
    elif seed in histories and all(histories[seed]):
        _draw(place, recipes, histories[seed])
    else:
        place.info(
            "Press Start: a model of one layer and one of two train side by side, in about half a minute.",
            icon=":material/school:",
        )
    with st.expander("Why one layer fails and two succeed"):
        st.markdown(_HOW)


@contextmanager
def _turn(place: DeltaGenerator) -> Iterator[None]:
    """Wait for one of the places where this server trains, and hold it; meanwhile the page says that it waits."""
    line, run = training_line(), object()

    def wait() -> bool:
        # A browser that has gone ends this run of the page here.
        place.progress(
            0.0,
            text=f":material/hourglass_empty: **Waiting.** This server trains {line.places} at once, and others are training.",
        )
        return True

    line.enter(run, wait)
    try:
        yield
    finally:
        line.leave(run)


def _draw(place: DeltaGenerator, recipes: Sequence[InductionRecipe], histories: Sequence[Sequence[InductionLook]]) -> None:
    parts = []
    for recipe, looks in zip(recipes, histories, strict=True):
        layers = "One layer" if recipe.n_layers == 1 else "Two layers"
        parts.append(f"<h4>{layers}</h4>{curves(_curves(looks), steps=recipe.steps, at=looks[-1].step, theme=theme())}")
    # Each step is an element of its own in the place of the one before: a name stands once in a run.
    with place:
        _markup(f"induction{histories[0][-1].step}", "".join(parts))


def _curves(history: Sequence[InductionLook]) -> list[Curve]:
    last, top = history[-1], max(look.loss for look in history)
    previous, induction = ([(look.step, float(score(look).max())) for look in history] for score in _SCORES)
    return [
        Curve("loss in the second half", f"{last.loss:.2f}", tuple((look.step, look.loss) for look in history), top),
        Curve(
            "correct in the second half", whole_percent(last.accuracy), tuple((look.step, look.accuracy) for look in history)
        ),
        Curve("weight on the letter before", f"{previous[-1][1]:.2f}", tuple(previous)),
        Curve("weight on what followed", f"{induction[-1][1]:.2f}", tuple(induction)),
    ]
