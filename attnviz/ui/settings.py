"""What the one who runs the app has set, from the environment and from Streamlit."""

import os

import streamlit as st

from attnviz.figures.explorer import MESSAGE_BYTES

_LOCAL = {"localhost", "127.0.0.1", "::1"}


def folders_allowed() -> bool:
    """Whether a model may be named by a folder: a visitor of a public app must not read the server's disk.

    Allowed where the app listens on this machine alone, or where ATTNVIZ_ALLOW_FOLDERS is 1.
    """
    setting = os.environ.get("ATTNVIZ_ALLOW_FOLDERS")
    return setting == "1" if setting is not None else st.get_option("server.address") in _LOCAL


def message_bytes() -> int:
    """How many bytes of weights, before compression, go to a browser at once; what takes more comes head by head.

    ATTNVIZ_MESSAGE_MB, in megabytes; 8 where it is not set or is no number.
    """
    try:
        return int(float(os.environ["ATTNVIZ_MESSAGE_MB"]) * 2**20)
    except (KeyError, ValueError, OverflowError):
        return MESSAGE_BYTES
