"""The present mode: the picture, its sentences and its output fill the screen, in letters that a classroom can read."""

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

from attnviz.ui.address.address_sync import publish, value
from attnviz.ui.address.widgets import sent

_PRESENT = component(
    "attnviz.present", html="<div></div>", js=Path(__file__).with_name("present.js").read_text(encoding="utf-8")
)


def presenter() -> None:
    """Lets the browser present, on a press or a key; that it does is in the address, and a link may open so."""
    on = bool(value("present", False))

    def turned() -> None:
        # The browser has turned already; its number tells it which of its turns a run has heard of.
        change = sent("presenter", "turned") or {}
        st.session_state.update(present=change.get("on") is True, present_turn=change.get("turn"))

    _PRESENT(key="presenter", data={"on": on, "turn": st.session_state.get("present_turn")}, on_turned_change=turned)
    publish("present", on, False)
