"""Train: a small model learns an exact task while you watch, and its attention learns where to look."""

import streamlit as st

from attnviz.ui.address.address_sync import finish
from attnviz.ui.download import Download, show_toolbar
from attnviz.ui.layout import header, hero
from attnviz.ui.train import view
from attnviz.ui.train.controls import drawn_head_picker, notices, pace_picker, recipe_picker, topic_picker
from attnviz.ui.train.induction import watch_induction


def train_alignment() -> list[Download]:
    """Show an alignment that emerges, and what can be done with the model that learns it; return what can be downloaded."""
    known = st.session_state.get("run")
    recipe, preset = recipe_picker(known.recipe if known else None)
    head = drawn_head_picker(recipe)
    slowly = pace_picker()
    if (run := view.current_run(recipe)) is None:
        return []
    run.slowly = slowly
    with hero() as heading:
        for line in notices(recipe, preset):
            heading.caption(f":material/lightbulb: {line}")
        view.watch(run, head)
    if run.active:
        return []
    frame = view.current_frame(run)
    downloads = [view.shown_download(run, frame, head)]
    if run.step:
        downloads += view.show_trial(run, frame, head)
        view.show_planted(run)
        view.file_boxes(run, frame)
    view.explain_training(recipe)
    return downloads


header("train")
downloads: list[Download] = []
if topic_picker() == "induction":
    with hero():
        watch_induction()
else:
    downloads = train_alignment()
show_toolbar(downloads, opens="Opens these settings, which train the same model again")
finish()
