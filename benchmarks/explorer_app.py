"""A page for bench_explorer.py: a trace that is ready, and a button that shows it as Encode does.

Its argument is the number of tokens.
"""

import sys

import streamlit as st

from attnviz.ui.address.state import arrive, finish
from attnviz.ui.explorer import ShownHead, explore
from attnviz.ui.frame.sidebar import head_controls
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
    head, question = head_controls(attention, (0, 0), paired=False)
    matrix = head.matrix(attention)
    explore(ShownHead(attention, head, matrix, question.cell(matrix)), question=question)
finish()
