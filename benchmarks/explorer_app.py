"""A page for bench_explorer.py: a trace that is ready, and a button that shows it as Encode does.

Its argument is the number of tokens.
"""

import sys

import numpy as np
import streamlit as st

from attnviz.core.trace import AttentionMap, QueryKeyWeights, Token
from attnviz.core.weights import QueryKeyLayer
from attnviz.ui.address.address_sync import arrive, finish
from attnviz.ui.explorer import ShownHead, explore
from attnviz.ui.frame.sidebar import head_controls

LAYERS = HEADS = 12


@st.cache_resource
def random_heads(tokens: int) -> AttentionMap:
    """Queries and keys of 64 numbers, peaked enough that heads differ."""
    generator = np.random.default_rng(2017)
    names = tuple(Token(f"w{index}", 0, 1) for index in range(tokens))
    stack, causal = [], tokens > 1024
    for _ in range(LAYERS):
        query, key = (generator.normal(size=(HEADS, tokens, 64)).astype(np.float32) for _ in range(2))
        stack.append(QueryKeyLayer(query, key, scaling=0.3, causal=causal))
    return AttentionMap("decoder" if causal else "encoder", names, names, QueryKeyWeights(tuple(stack)), causal=causal)


arrive("encode")
attention = random_heads(int(sys.argv[1]))
st.write(f"{attention.nbytes / 1e6:.0f} MB")
if st.button("Show"):
    st.session_state.shown = True
if st.session_state.get("shown"):
    head, question = head_controls(attention, (0, 0), paired=False)
    matrix = head.matrix(attention)
    explore(ShownHead(attention, head, matrix, question.cell(matrix)), question=question)
finish()
