"""Matters: which words an output depends on, asked in many ways, each of them tested by taking words away."""

import streamlit as st

from attnviz.models import catalog
from attnviz.ui.address.state import finish
from attnviz.ui.background.measures import matters, without
from attnviz.ui.explain import keep
from attnviz.ui.layout import header, hero
from attnviz.ui.matters.pictures import (
    FAST,
    SLOW,
    headline,
    publish_taken,
    show_curve,
    show_rows,
    show_table,
    show_taken,
    taken_words,
    text_boxes,
)
from attnviz.ui.sidebar import one_model

ABOUT = "answer-en and the other models of the catalog are on this machine; type the id of any other one of the hub."
KNOWN = ("answer-en", *(name for name in catalog.available() if name != "answer-en"))

header("Matters", "See which words an output depends on, and how far to believe who says so.")
model = one_model(KNOWN, ABOUT)
prompt = text_boxes(model)
fast = matters(model, prompt, FAST) if prompt else None
if prompt and fast:
    taken = taken_words(fast)
    publish_taken(taken)
    with hero() as told:
        headline(fast, told)
        st.caption("Red speaks for the output, blue against it. Click a word to take it away; another click gives it back.")
        if taken and (then := without(model, prompt, taken)):
            show_taken(fast, taken, then)
        show_rows(fast, FAST, taken)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("How well did each way do here?", anchor=False)
        table = st.empty()
        with table.container():
            show_table(fast)
    with right:
        st.subheader("What if words go?", anchor=False)
        show_curve(fast)
    slower = st.container()
    keep(opens="Opens these words, shaded as they are here")
    # The page is whole before the slow ways are asked: its address, its toolbar, and all that can be clicked.
    finish()
    with slower:
        st.subheader("Slower ways", anchor=False)
        if slow := matters(model, prompt, SLOW):
            show_rows(slow, SLOW, taken)
            with table.container():
                show_table(fast, slow)
finish()
