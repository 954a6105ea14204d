"""Lessons: what a class can do in a quarter of an hour, beside the pictures of the other pages."""

import streamlit as st

from attnviz.ui.address.address_sync import finish
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import header, hero
from attnviz.ui.lessons import show_cards, show_upload

header("lessons")
with hero():
    show_cards()
show_upload()
with st.expander("How a lesson goes", icon=":material/help:"):
    st.markdown(
        "Each step shows a picture and asks about it. The picture stays hidden until you have answered: click a word, a cell "
        "or a head, or set a number. Right answers are computed by the model, so they are those of the picture. **Page down** "
        "and **page up** lead through the steps, as a clicker does. At the end you can hand in a small file with your answers; "
        "`attnviz grade` checks the files of a class. A lesson is one Markdown file: `attnviz lesson new NAME` writes one to "
        "start from."
    )
fill_toolbar("Opens all lessons")
finish()
