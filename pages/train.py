"""Train: a small model learns an exact task while you watch, and its attention learns where to look."""

import streamlit as st

from attnviz.ui.address.state import finish
from attnviz.ui.download import Kept
from attnviz.ui.explain import keep
from attnviz.ui.layout import header, hero
from attnviz.ui.train.download import kept_untrained
from attnviz.ui.train.induction import lesson_picker, watch_induction
from attnviz.ui.train.live import frame_of, run_of, watch
from attnviz.ui.train.planted import show_planted
from attnviz.ui.train.settings import head_picker, look_for, pace, recipe_picker
from attnviz.ui.train.trial import explained, files, try_out


def alignment() -> list[Kept]:
    """An alignment that emerges, and what can be done with the model that learns it; what can be taken along."""
    known = st.session_state.get("run")
    recipe, preset = recipe_picker(known.recipe if known else None)
    head = head_picker(recipe)
    slowly = pace()
    run = run_of(recipe)
    run.slowly = slowly
    with hero() as beside:
        for line in look_for(recipe, preset):
            beside.caption(f":material/lightbulb: {line}")
        watch(run, head)
    shown: list[Kept] = []
    if not run.active:
        frame = frame_of(run)
        if run.step:
            shown = try_out(run, frame, head)
            show_planted(run)
            files(run, frame)
        else:
            shown = [kept_untrained(run, frame, head)]
        explained(recipe)
    return shown


header("Train", "Watch a small model learn a task, and its attention find out where to look.")
shown: list[Kept] = []
if lesson_picker() == "induction":
    with hero():
        watch_induction()
else:
    shown = alignment()
keep(shown, opens="Opens these settings, which train the same model again")
finish()
