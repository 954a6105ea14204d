"""The QR code of a link, on this machine's own address in its network where the app listens there."""

import html
import socket
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import segno
import streamlit as st


def show_qr_code(address: str, opens: str) -> None:
    """The address as a picture that a phone reads from the wall: on this machine's own address, that of the network, if any."""
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
    """The same address by this machine's number in its network; empty where the app does not listen there."""
    parts = urlsplit(address)
    number = own_number()
    if not number or not _is_listening(number, parts.port or 80):
        return ""
    return parts._replace(netloc=f"{number}:{parts.port}" if parts.port else number).geturl()


def own_number() -> str:
    """This machine's IPv4 address in its network; empty where it has none, and in a container, whose address nobody reaches."""
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
