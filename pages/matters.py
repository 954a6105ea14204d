"""Matters: which words an output depends on, asked in many ways, each of them tested by taking words away."""

from functools import partial

import streamlit as st

from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.background.measures import deletion, matters, without
from attnviz.ui.explain import show_toolbar
from attnviz.ui.layout import header, hero
from attnviz.ui.matters.controls import about, ask_again, seen_head, taken_words, target_picker, text_boxes
from attnviz.ui.matters.download import offer_files
from attnviz.ui.matters.view import (
    SLOW,
    asks_slow,
    chosen_way,
    explained,
    headline,
    names_of,
    show_curve,
    show_taken,
    show_text,
    show_ways,
)
from attnviz.ui.sidebar import one_model

ABOUT = "answer-en and the other models of the catalog are on this machine; type the id of any other one of the hub."
KNOWN = ("answer-en", *(name for name in catalog.available() if name != "answer-en"))

header("Matters", "See which words an output depends on, and how far to believe who says so.")
model = one_model(KNOWN, ABOUT)
prompt = text_boxes(model)
target, seen = about(model), seen_head()
names = names_of(seen)
report = matters(model, prompt, target, names) if prompt else None
if prompt and report:
    target_picker(report)
    slow = matters(model, prompt, target, SLOW) if asks_slow() else None
    report = report.joined(slow) if slow else report
    taken, rows, way = taken_words(report), (*names[:-1], *SLOW, names[-1]), chosen_way(report)
    with hero() as heading:
        headline(report, way, heading)
        show_text(report, way, taken)
        show_taken(report, taken, without(model, prompt, target, taken) if taken else None)
        table = st.empty()
        show_ways(table, report, rows, way, waits=slow is None)
    left, right = st.columns(2, gap="large")
    with right:
        explained()
    with left:
        if curve := deletion(model, prompt, target, report.ranked(way)):
            show_curve(curve, way)
    files = partial(offer_files, model, prompt, target, report, way, curve)
    show_toolbar(opens="Opens these words, shaded as they are here", own=files)
    # The page is whole before the slow ways are asked: its address, its toolbar, and all that can be clicked.
    finish()
    if slow is None and (slow := matters(model, prompt, target, SLOW)):
        show_ways(table, report.joined(slow), rows, way, waits=False)
elif prompt:
    ask_again()
finish()
