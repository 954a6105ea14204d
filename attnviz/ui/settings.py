"""What the one who runs the app has set, from the environment and from Streamlit."""

import os

import streamlit as st

_LOCAL = {"localhost", "127.0.0.1", "::1"}


def folders_allowed() -> bool:
    """Whether a model may be named by a folder: a visitor of a public app must not read the server's disk.

    Allowed where the app listens on this machine alone, or where ATTNVIZ_ALLOW_FOLDERS is 1.
    """
    setting = os.environ.get("ATTNVIZ_ALLOW_FOLDERS")
    return setting == "1" if setting is not None else st.get_option("server.address") in _LOCAL
