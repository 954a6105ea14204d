"""The page of a phone: one answer of the server, with style, script and question inside: a slow line waits once.

A front that passes on no route but Streamlit's may answer /join with Streamlit's page, which then asks for a page of that name.
Where it answers otherwise, wall and phones find that out (server_connection.js), and the page stands at /?join=CODE.
"""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from attnviz.core.errors import AttnvizError
from attnviz.figures.html import bundle
from attnviz.figures.lessons.question import STYLE as QUESTION_STYLE
from attnviz.figures.theme import DARK, LIGHT, css_variables
from attnviz.lessons.classroom.codes_and_nicknames import read_code
from attnviz.ui.address.address_sync import sent
from attnviz.ui.classroom import phone_requests
from attnviz.ui.classroom.running_class import class_store
from attnviz.ui.layout import theme

_FOLDER = Path(__file__).parent / "phone"
STYLE = QUESTION_STYLE + (_FOLDER / "phone.css").read_text(encoding="utf-8")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>attnviz: a class</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="phone"></main>
<script type="application/json" id="scales">{scales}</script>
<script type="application/json" id="view">VIEW</script>
<script type="module">{script}</script>
</body>
</html>
"""


@cache
def phone_script() -> str:
    """Write the script of a phone's page."""
    return bundle(_FOLDER / "join_page.js")


@cache
def phone_style() -> str:
    """Write the style of a phone's page, in the colours of the app, light and dark."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}"
    return f":root {{ {css_variables(LIGHT)} }}\n{dark}\n{STYLE}"


def scales() -> dict[str, tuple[str, ...]]:
    """Name the colours of weights, from 0 to 1."""
    return {theme.name: theme.scale for theme in (LIGHT, DARK)}


def phone_page(view: dict[str, Any] | None = None) -> str:
    """Write a phone's page, with what its class may see now."""
    before, after = _page()
    # Within a script nothing is escaped, and only "<" could end it.
    return f"{before}{json.dumps(view, ensure_ascii=False).replace('<', chr(92) + 'u003c')}{after}"


@cache
def _page() -> tuple[str, str]:
    before, _, after = PAGE.format(style=phone_style(), scales=json.dumps(scales()), script=phone_script()).partition("VIEW")
    return before, after


_PHONE = component(
    "attnviz.phone", html='<main id="phone"></main>', css=STYLE,
    js=bundle(_FOLDER / "app_connection.js"),
)  # fmt: skip
# Seconds between two looks at the class, and between two notes that this phone is here.
LOOK, NOTE = 2.0, 20.0
# Answers that are kept until the phone has them, and requests of one message.
MOST_DONE, MOST_ASKED = 16, 4
# Nothing of the app stands around it.
_STYLE = """
:root :is([data-testid="stSidebar"], [data-testid="stHeader"]) { display: none; }
:root [data-testid="stMainBlockContainer"] { max-width: 40rem; padding: 0; }
"""


def show_join() -> None:
    """Draws a phone's page, which joins the class that the address names."""
    st.html(f"<style>:root {{ {css_variables(theme())} }} {_STYLE}</style>")
    _show_phone()


@st.fragment(run_every=LOOK)
def _show_phone() -> None:
    state, query = st.session_state, st.query_params
    _, token = state.get("phone_listens", ("", ""))
    told = {
        "code": read_code(query.get("code") or query.get("join", "")), "invite": query.get("invite", "")[:100],
        "scale": theme().scale, "done": dict(state.get("phone_done", {})), "listens": token, "heard": _news(),
        "at": time.time(),
    }  # fmt: skip
    _PHONE(key="phone", data=told, on_sent_change=_answer)


def _answer() -> None:
    """Answers each request once, however often it is sent; a browser may send anything."""
    match sent("phone", "sent"):
        case {"listens": [str(code), str(token)], "asked": list(asked)}:
            st.session_state.phone_listens = read_code(code), token[:100]
        case _:
            return
    done: dict[str, Any] = st.session_state.setdefault("phone_done", {})
    for each in asked[:MOST_ASKED]:
        match each:
            case [str(name), str(act), str(code), str(token), dict(body)] if name not in done and len(name) <= 40:
                done[name] = _done(act, read_code(code), token[:100], body)
    while len(done) > MOST_DONE:
        done.pop(next(iter(done)))


def _done(act: str, code: str, token: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        if act == "join":
            return phone_requests.join(code, body, st.context.ip_address or "")
        return phone_requests.answer(code, token, body)
    except AttnvizError as error:
        return phone_requests.refusal(error)


def _news() -> dict[str, Any] | None:
    """Return what the phone may see now; None: it is in no class."""
    code, token = st.session_state.get("phone_listens", ("", ""))
    if not token:
        return None
    try:
        told = phone_requests.state(code, token)
        if time.monotonic() - st.session_state.get("phone_noted", -NOTE) >= NOTE:
            st.session_state.phone_noted = time.monotonic()
            class_store().mark_here([told["own"]["id"]])
    except AttnvizError as error:
        return phone_requests.refusal(error)
    return told
