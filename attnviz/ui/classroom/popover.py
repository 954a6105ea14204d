"""The toolbar's way to a class: start one, or ask it about the picture."""

import streamlit as st

from attnviz.ui.classroom.teacher import open_class, start_class, taught_class
from attnviz.ui.frame.toolbar import toolbar_place

# Pages whose picture a class can be asked about, or from which it begins.
ASKED = ("home", "encode", "translate", "answer", "summarize", "lessons")


def ask_popover() -> None:
    """Draws at the end of the toolbar the way to a class, with what it can be asked about this picture."""
    place = toolbar_place()
    if place is None or st.session_state.page not in ASKED:
        return
    with place.popover("Class", icon=":material/groups:", key="ask-class"):
        if taught_class() is None:
            st.caption("Your class guesses on phones, and the guesses come back onto the picture.")
            st.button("Start a class", key="start-class", icon=":material/groups:", on_click=start_class)
            st.html('<a class="class-join" href="./?join" target="_blank">Join a class</a>')
            return
        # Imported here: most visits teach no class.
        from attnviz.ui.classroom.ask import ask_class, questions_here

        for number, each in enumerate(questions_here()):
            st.button(each.question.ask, key=f"ask-{number}", on_click=ask_class, args=(each,))
        st.button("Open the class", key="open-class", type="tertiary", icon=":material/groups:", on_click=open_class)
