"""Train: a small model learns an exact task while you watch, and its attention learns where to look."""

import streamlit as st

from attnviz.ui.address.state import finish
from attnviz.ui.explain import keep
from attnviz.ui.layout import header, hero, story
from attnviz.ui.train.kept import kept_untrained
from attnviz.ui.train.live import frame_of, run_of, told, watch
from attnviz.ui.train.settings import head_picker, look_for, pace, recipe_picker
from attnviz.ui.train.trial import explained, files, try_out

header("Train", "Watch a small model learn a task, and its attention find out where to look.")
known = st.session_state.get("run")
recipe, preset = recipe_picker(known.recipe if known else None)
head = head_picker(recipe)
slowly = pace()
run = run_of(recipe)
run.slowly = slowly
with hero():
    watch(run, head)
for line in look_for(recipe, preset):
    st.caption(f":material/lightbulb: {line}")
shown = []
if not run.active:
    frame = frame_of(run)
    story(*told(run, frame, head))
    if run.step:
        shown = try_out(run, frame, head)
        files(run, frame)
    else:
        shown = [kept_untrained(run, frame, head)]
    explained(recipe)
keep(shown, opens="Opens these settings, which train the same model again")
finish()
