"""The class that this visitor teaches: kept for the visit, and for reloads in a cookie of this browser."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.components.v2 import component

from attnviz.core.errors import AttnvizError, BusyError
from attnviz.lessons.classroom.codes import read_code
from attnviz.ui.address.address_sync import visit
from attnviz.ui.classroom.phone_requests import starts, wrong_codes
from attnviz.ui.classroom.store import class_store

if TYPE_CHECKING:
    from attnviz.lessons.classroom.class_values import StartedClass

_COOKIE = "attnviz-class"
_TOKEN = re.compile(r"[\w-]{1,100}", re.ASCII)
_KEEP = component(
    "attnviz.class-cookie", html="<div></div>", js=Path(__file__).with_name("cookie.js").read_text(encoding="utf-8")
)


def taught_class() -> "StartedClass | None":
    """The class that this visitor has started, or opened by the teacher's link; None: there is none."""
    state = st.session_state
    if "taught_class" not in state:
        written = dict(st.context.cookies).get(_COOKIE, "")
        state.taught_class = read_taught(written) if written else None
    return state.taught_class


def read_taught(written: str) -> "StartedClass | None":
    """Read what the cookie or a teacher's link holds: the code, the invitation and the secret.

    >>> read_taught("KRTF.abc.def").code, read_taught("KRTF.abc")
    ('KRTF', None)
    """
    # Imported here: most visits teach no class.
    from attnviz.lessons.classroom.class_values import StartedClass

    code, *tokens = written.split(".")
    if len(tokens) != 2 or not read_code(code) or not all(map(_TOKEN.fullmatch, tokens)):
        return None
    return StartedClass(read_code(code), *tokens)


def write_taught(taught: "StartedClass") -> str:
    """Write what `read_taught` reads."""
    return f"{taught.code}.{taught.invite}.{taught.secret}"


def keep_taught() -> None:
    """Lets the browser keep whose teacher this is, for as long as a class lives."""
    taught = taught_class()
    _KEEP(key="class-cookie", data=[_COOKIE, write_taught(taught) if taught else ""])


def start_class(*, nicknames: bool = False) -> None:
    """Starts a class, and opens its page; for a callback."""
    try:
        if not starts.take(st.context.ip_address or ""):
            raise BusyError("Many classes were started from this network: try again in a few minutes.")
        st.session_state.taught_class = class_store().start(nicknames=nicknames)
    except AttnvizError as error:
        st.session_state.class_refused = str(error)
        return
    note_trusted(st.session_state.taught_class.code)
    open_class()


def note_trusted(code: str) -> None:
    """Trust the teacher's network with the code of the class: others' wrong codes lock nobody there out."""
    wrong_codes.trust(st.context.ip_address or "", code)


def open_class() -> None:
    """Opens the page of the class that is taught here, with the lesson that runs now; for a callback."""
    if taught := taught_class():
        address = st.session_state.address
        visit("class", **{"class": taught.code, "teaches": address.get("lesson") or address.get("teaches")})


def forget_class() -> None:
    """Makes this visitor a teacher no more; for a callback."""
    st.session_state.taught_class = None
