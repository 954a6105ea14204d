"""A page for bench_explorer.py: a trace that is ready, and a button that shows it. Its argument is the number of tokens."""

import sys

import streamlit as st

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import HeadView, View
from attnviz.ui.address.state import arrive, finish
from attnviz.ui.explorer import ShownHead, explore
from benchmarks.bench_explorer import random_heads


@st.cache_resource
def ready(tokens: int):
    return random_heads(tokens, causal=tokens > 1024)


arrive("encode")
attention = ready(int(sys.argv[1]))
st.write(f"{attention.nbytes / 1e6:.0f} MB")
if st.button("Show"):
    st.session_state.shown = True
if st.session_state.get("shown"):
    head = HeadView(st.session_state.get("layer", 0), st.session_state.get("head", 0), View(), False)
    matrix = head.matrix(attention)
    explore(ShownHead(attention, head, matrix, focus_cell(matrix)))
finish()
