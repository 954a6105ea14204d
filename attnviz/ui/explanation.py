"""How the number in a cell comes about, and how far to trust what attention shows."""

import streamlit as st

from attnviz.analysis.compute.dot_product import score
from attnviz.analysis.head_view import HeadMatrix, HeadView
from attnviz.core.trace import AttentionMap, QueryKeyWeights
from attnviz.ui.download import explain_button

_HOW = """
Every token has a **query** (what it looks for) and a **key** (what it offers). A head compares each query with all keys by
their dot product, and a softmax turns each row of scores into shares that sum to 1
(Vaswani et al. 2017, *Attention Is All You Need*, section 3.2.1).
"""
_HOW_OF_ITS_OWN = """
Every query is scored against every key, and a softmax turns each row of scores into shares that sum to 1. This model computes
its scores in a way of its own, and its weights are shown as it gives them.
"""
_BELIEVE = """
- The numbers are the model's own: they come from its forward pass over this very text, and attnviz's tests compare them with
  the model's own report of its attention to five digits.
- A large weight says where a head **looked**, not what the model **concluded** from it: values, other heads and later layers
  decide what becomes of it (Jain & Wallace 2019, *Attention is not Explanation*; Wiegreffe & Pinter 2019, *Attention is not
  not Explanation*).
- Much attention on [CLS], [SEP] or the first token usually means that a head found nothing to do (Clark et al. 2019).
- One sentence is an anecdote. Change a word and see whether the pattern stays.
"""


def explain_weight(attention: AttentionMap, matrix: HeadMatrix, looked_at: HeadView, cell: tuple[int, int]) -> None:
    """Explain a weight by its formula and numbers; in words, where the model keeps its queries and keys to itself."""
    if looked_at.head is not None:
        place = {"model": st.session_state.model, "layer": looked_at.layer, "head": looked_at.head}
        place |= {
            "query": matrix.rows[cell[0]],
            "key": matrix.columns[cell[1]],
            "words": "true" if looked_at.view.words else "",
        }
        explain_button(attention, place)
    if not isinstance(attention.store, QueryKeyWeights):
        st.expander("How this number comes about").markdown(_HOW_OF_ITS_OWN)
        return
    with st.expander("How this number comes about · softmax(q·k / √d)"):
        st.markdown(_HOW)
        st.latex(r"\mathrm{weight}(q, k) = \frac{e^{\,q \cdot k / \sqrt{d}}}{\sum_{j} e^{\,q \cdot k_j / \sqrt{d}}}")
        if looked_at.head is None or looked_at.view.words:
            st.caption("Choose one head, without merging subwords, to see the numbers of a link here.")
            return
        if not matrix.visible[cell]:
            st.caption("This cell is masked: its score counts as minus infinity, so its weight is exactly 0.")
            return
        query, key = matrix.rows[cell[0]], matrix.columns[cell[1]]
        parts = score(attention, layer=looked_at.layer, head=looked_at.head, query=query, key=key)
        if parts is None:
            st.caption("This model adds terms of its own to its scores; its weights are shown as it gives them.")
            return
        st.latex(
            rf"q \cdot k = {parts.product:.2f}, \qquad {parts.product:.2f} \times {parts.scaling:.4f} = {parts.scaled:.2f}, "
            rf"\qquad \mathrm{{softmax}} \to {parts.weight:.4f} \qquad (d = {parts.dim})"
        )


def explain_trust() -> None:
    """Explain what attention shows, and what it does not."""
    with st.expander("How much to trust this"):
        st.markdown(_BELIEVE)
