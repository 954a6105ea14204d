"""The toolbar at the picture: download, copy the link, show it as a QR code, present."""

import html
import socket
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import segno
import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator

from attnviz.ui.address.address_sync import link, pop_state, publish, sent, value

_FRAME = Path(__file__).parent
_LAYOUT = (_FRAME.parent / "layout.css").read_text(encoding="utf-8")

# Within `:root` each rule counts more than Streamlit's own of the same element, which the browser reads later.
STYLE = f":root {{ {_LAYOUT} }}"


def show_qr_code(address: str, opens: str) -> None:
    """Draw the address as a picture that a phone reads from the wall: of localhost that of the network, if there is one."""
    is_own = urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1")
    network = network_address(address) if is_own else ""
    try:
        picture = picture_of(network or address)
    except segno.DataOverflowError:
        st.caption("This link is too long for a QR code: shorten the text, or copy the link.")
        return
    st.html(f'<img class="qr" src="{html.escape(picture)}" alt="QR code of this link">')
    if network:
        st.caption(f"{opens}, for phones in this machine's network: there it is `{urlsplit(network).netloc}`.")
    elif is_own:
        st.caption(
            "This link works on this machine only. For phones, start the app with `attnviz --host 0.0.0.0` "
            "or `make run HOST=0.0.0.0`, and open this again."
        )
    else:
        st.caption(f"{opens}: point a phone's camera at it.")


@lru_cache(64)
def picture_of(address: str) -> str:
    """Draw the code of an address as the address of an SVG; two addresses have two pictures."""
    # Any of the eight masks can be read; to look for the best of them took four times as long.
    code = segno.make(address, error="l", micro=False, mask=0)
    # Black on white in any theme, with its quiet zone: that is what cameras read.
    return code.svg_data_uri(dark="#000", light="#fff", border=4, omitsize=True)


def network_address(address: str) -> str:
    """Return the same address by this machine's number in its network; empty where the app does not listen there."""
    parts = urlsplit(address)
    number = own_number()
    if not number or not _is_listening(number, parts.port or 80):
        return ""
    return parts._replace(netloc=f"{number}:{parts.port}" if parts.port else number).geturl()


def own_number() -> str:
    """Return this machine's IPv4 address in its network; empty where it has none, and in a container, which nobody reaches."""
    if Path("/.dockerenv").exists():
        return ""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only chooses by which of its addresses it would go.
            probe.connect(("10.255.255.255", 1))
            number = probe.getsockname()[0]
    except OSError:
        return ""
    return "" if number.startswith(("127.", "0.")) else number


@st.cache_data(ttl=60, max_entries=16, show_spinner=False)
def _is_listening(number: str, port: int) -> bool:
    try:
        socket.create_connection((number, port), timeout=0.5).close()
    except OSError:
        return False
    return True


_PRESENT_COMPONENT = component(
    "attnviz.present", html=f"<template>{(_FRAME / 'present.css').read_text(encoding='utf-8')}</template>",
    js=(_FRAME / "present.js").read_text(encoding="utf-8"),
)  # fmt: skip


def presenter() -> None:
    """Lets the browser present, on a press or a key; that it does is in the address, and a link may open so."""
    on = bool(value("present", False))

    def turned() -> None:
        # The browser has turned already; its number tells it which of its turns a run has heard of.
        change = sent("presenter", "turned") or {}
        st.session_state.update(present=change.get("on") is True, present_turn=change.get("turn"))

    _PRESENT_COMPONENT(key="presenter", data={"on": on, "turn": st.session_state.get("present_turn")}, on_turned_change=turned)
    publish("present", on, False)


_PLACE = "toolbar_place"
_TOOLBAR_STYLE = Path(__file__).with_name("toolbar.css").read_text(encoding="utf-8")
_COPY = component(
    "attnviz.copy", html='<div class="tool"></div>', css=_TOOLBAR_STYLE,
    js=Path(__file__).with_name("copy.js").read_text(encoding="utf-8"),
)  # fmt: skip
# Present: `attnviz.ui.frame.toolbar` listens.
_PRESENT = component(
    "attnviz.present-button",
    html='<div class="tool"><button type="button" title="Fills the screen with the picture. F does it too; Escape returns.">'
    '<i aria-hidden="true">present_to_all</i><span><b class="now">Present</b></span></button></div>',
    css=_TOOLBAR_STYLE,
    js="""export default ({ parentElement }) => {
      const present = () => document.dispatchEvent(new CustomEvent("attnviz-present"));
      parentElement.querySelector("button").onclick = present;
    }""",
)


def forget_toolbar() -> None:
    """Begins a run: no toolbar stands on the page yet."""
    pop_state(_PLACE)


def toolbar_place() -> DeltaGenerator | None:
    """Return where the toolbar stands; None: on no part of this page."""
    return st.session_state.get(_PLACE)


def reserve_toolbar() -> DeltaGenerator:
    """Keeps the toolbar's place here; what stands in it is known at the end of the run (`fill_toolbar`)."""
    place = st.container(key="toolbar", horizontal=True, horizontal_alignment="right", gap="xsmall")
    st.session_state[_PLACE] = place
    return place


def fill_toolbar(opens: str) -> DeltaGenerator:
    """Draws the toolbar in its place, or here where a page has no picture; returns the place of the download button.

    `opens` says what the link opens.
    """
    with toolbar_place() or reserve_toolbar():
        download = st.container(key="toolbar-download", width="content")
        address = page_address()
        _COPY(
            key="copy-link", data={"link": address, "help": f"{opens}, in any browser that reaches this app."}, width="content"
        )
        with st.container(width="content"):
            _qr_code(address, opens)
        _PRESENT(key="present-button", width="content")
    return download


@st.fragment
def _qr_code(address: str, opens: str) -> None:
    """Draws the QR code once somebody opens it: that of a long link takes longer than all else of a run."""
    with st.popover("QR code", icon=":material/qr_code_2:", key="qr-code", on_change="rerun") as popover:
        if popover.open:
            show_qr_code(address, opens)


def page_address() -> str:
    """Return the whole address of what the page shows."""
    query = link()
    return f"{(st.context.url or '').split('?')[0]}{'?' if query else ''}{query}"
