"""The sentences and heads of this visit, a click away; kept in the browser, and nowhere else."""

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.wording import head_name
from attnviz.ui.address.address_sync import link

_HERE = Path(__file__).parent
_HISTORY = component(
    "attnviz.history",
    html='<details class="history"><summary>History</summary><div></div></details>',
    css=(_HERE / "history.css").read_text(encoding="utf-8"),
    js=(_HERE / "history.js").read_text(encoding="utf-8"),
)
# What is read on a page, by the name of its parameter.
_READ = {"encode": "text", "translate": "text", "answer": "question", "summarize": "text", "write": "text"}
_HEADED = {"encode": "mean", "translate": "all_heads", "answer": "all_heads", "summarize": "all_heads", "write": "mean"}
_TITLE = 120


def show_history() -> None:
    """Tells the browser what is shown now, and draws what it has been told before, in the sidebar.

    A text that is too long for an address is not part of it. An address that the page before has written over is put right.
    """
    state = st.session_state
    page = state.get("page", "")
    # A session refuses an empty name, and not every page reads a text.
    text = state.get(_READ[page], "") if page in _READ else ""
    is_linked = not state.get("unlinked", {}).get(page)
    shown = {"page": page, "title": text[:_TITLE], "head": _head(page), "query": link()} if text and is_linked else None
    with st.sidebar:
        _HISTORY(key="history", data=[page, state.pop("standing", None), shown])


def _head(page: str) -> str:
    state = st.session_state
    if "layer" not in state or "head" not in state:
        return ""
    return head_name(state.layer, None if state.get(_HEADED[page]) else state.head)
