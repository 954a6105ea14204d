"""The toolbar at the picture: download, copy the link, show it as a QR code, present."""

from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator

from attnviz.ui.address.address_sync import link
from attnviz.ui.frame.qr_code import show_qr_code

_PLACE = "toolbar_place"
_STYLE = Path(__file__).with_name("toolbar.css").read_text(encoding="utf-8")
_COPY = component(
    "attnviz.copy", html='<div class="tool"></div>', css=_STYLE,
    js=Path(__file__).with_name("copy.js").read_text(encoding="utf-8"),
)  # fmt: skip
# Present: `attnviz.ui.frame.present` listens.
_PRESENT = component(
    "attnviz.present-button",
    html='<div class="tool"><button type="button" title="Fills the screen with the picture. F does it too; Escape returns.">'
    '<i aria-hidden="true">present_to_all</i><span><b class="now">Present</b></span></button></div>',
    css=_STYLE,
    js="""export default ({ parentElement }) => {
      const present = () => document.dispatchEvent(new CustomEvent("attnviz-present"));
      parentElement.querySelector("button").onclick = present;
    }""",
)


def forget_toolbar() -> None:
    """Begins a run: no toolbar stands on the page yet."""
    st.session_state.pop(_PLACE, None)


def toolbar_place() -> DeltaGenerator | None:
    """Where the toolbar stands; None: on no part of this page."""
    return st.session_state.get(_PLACE)


def reserve_toolbar() -> None:
    """Keeps the toolbar's place here; what stands in it is known at the end of the run (`fill_toolbar`)."""
    st.session_state[_PLACE] = st.container(key="toolbar", horizontal=True, horizontal_alignment="right", gap="xsmall")


def fill_toolbar(opens: str) -> DeltaGenerator:
    """Draws the toolbar in its place, or here where a page has no picture; returns the place of the download button.

    `opens` says what the link opens.
    """
    if _PLACE not in st.session_state:
        reserve_toolbar()
    with st.session_state[_PLACE]:
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
    """The whole address of what the page shows."""
    query = link()
    return f"{(st.context.url or '').split('?')[0]}{'?' if query else ''}{query}"
