"""One weight of a real model, unfolded: which it is, its steps, and whether they end at the number in the heatmap."""

from contextlib import suppress
from dataclasses import dataclass

import streamlit as st
from streamlit.errors import StreamlitAPIException

from attnviz.analysis.compute.additive import unfold_additive
from attnviz.analysis.compute.dot_product import unfold_dot_product
from attnviz.analysis.compute.long_vectors import Link
from attnviz.analysis.compute.merged_pieces import merged
from attnviz.analysis.compute.steps import Step
from attnviz.core.head_inputs import Additive
from attnviz.core.trace import AttentionMap, Token
from attnviz.models.inspect import InspectedTrace
from attnviz.ui.state import asked, forget_cell, publish


@dataclass(frozen=True, eq=False)
class Unfolded:
    """The steps, which of them ends in the weight, the weight as the heatmap has it, and how far apart the two are."""

    steps: tuple[Step, ...]
    last: int
    weight: float
    difference: float


def begun() -> tuple[str, ...]:
    """The names of the pieces of a translation that the address asks for."""
    return tuple(asked("begins", "").split())


def forget_writing() -> None:
    """Another text: what was chosen, written or forced for the one before goes."""
    forget_cell()
    st.session_state.pop("at", None)
    for name in ("begins", "target", "at", "question"):
        # The parameter of the box with the target, where it is on the page, follows the box.
        with suppress(StreamlitAPIException):
            st.query_params.pop(name, None)
    st.session_state.target = ""


def link_picker(attention: AttentionMap, *, query: int, key: int) -> Link:
    """The query and the key whose weight is explained, in the sidebar; the arguments are what a first visit opens."""
    queries, keys = (tuple(token.text for token in tokens) for tokens in (attention.queries, attention.keys))
    chosen = []
    for label, name, tokens, default in (
        ("Query: who looks", "query", attention.queries, query),
        ("Key: at whom", "key", attention.keys, key),
    ):
        st.session_state[name] = _position(st.session_state.get(name, st.query_params.get(name)), default, len(tokens))
        at = st.sidebar.selectbox(label, range(len(tokens)), key=name, format_func=lambda at, all=tokens: _label(all, at))
        publish(name, str(at), "")
        chosen.append(at)
    return Link(queries, keys, *chosen)


def _label(tokens: tuple[Token, ...], at: int) -> str:
    return f"{at} · {tokens[at].text}"


def _position(value: object, default: int, size: int) -> int:
    try:
        return min(max(int(str(value)), 0), size - 1)
    except ValueError:
        return min(default, size - 1)


def unfolded(opened: InspectedTrace, kind: str, *, layer: int, head: int, link: Link, words: bool) -> Unfolded | None:
    """The steps of a weight; None where the model does not show what is behind it.

    Raises:
        TraceError: there is no such map, layer or head.
    """
    inside = opened.head(kind, layer, head)
    if inside is None:
        return None
    steps = unfold_additive(inside, link) if isinstance(inside, Additive) else unfold_dot_product(inside, link)
    attention = opened.trace.map(kind)
    weight = float(attention.weights(layer, head)[link.query, link.key])
    last = next(index for index, step in enumerate(steps) if step.result.weights)
    computed = float(steps[last].result.values[steps[last].start])
    if words and (step := merged(attention, layer=layer, head=head, query=link.query, key=link.key)):
        # Before the context: it is the heatmap's number, and no further step needs it.
        steps = (*steps[: last + 1], step, *steps[last + 1 :])
    return Unfolded(steps, last, weight, abs(weight - computed))
