"""One weight of a real model, unfolded: which it is, its steps, and whether they end at the number in the heatmap."""

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.compute.additive import unfold_additive
from attnviz.analysis.compute.dot_product import unfold_dot_product
from attnviz.analysis.compute.long_vectors import QueryKey
from attnviz.analysis.compute.merged_pieces import merge_step
from attnviz.analysis.compute.steps import ComputationStep
from attnviz.core.head_inputs import Additive
from attnviz.core.trace import AttentionMap, Token
from attnviz.models.head_inputs import InspectedTrace
from attnviz.ui.address.state import forget, forget_cell, publish, url_value, value


@dataclass(frozen=True, eq=False)
class Unfolded:
    """The steps, which of them ends in the weight, the weight as the heatmap has it, and how far apart the two are."""

    steps: tuple[ComputationStep, ...]
    last: int
    weight: float
    difference: float


def begun() -> tuple[str, ...]:
    """The names of the pieces of a translation that the address asks for."""
    return tuple(url_value("begins", "").split())


def forget_writing() -> None:
    """Another text: what was chosen, written or forced for the one before goes."""
    forget_cell()
    forget("begins", "at", "at_step", "question", "target")


def link_picker(attention: AttentionMap, *, query: int, key: int) -> QueryKey:
    """The query and the key whose weight is explained, in the sidebar; the arguments are what a first visit opens."""
    queries, keys = (tuple(token.text for token in tokens) for tokens in (attention.queries, attention.keys))
    chosen = []
    for label, name, tokens, default in (
        ("Query: who looks", "query", attention.queries, query),
        ("Key: at whom", "key", attention.keys, key),
    ):
        places = range(len(tokens))
        st.session_state[name] = min(max(value(name, default), 0), len(tokens) - 1)
        at = st.sidebar.selectbox(label, places, key=name, format_func=lambda at, all=tokens: _label(all, at))
        chosen.append(at if at in places else places[-1])
        publish(name, chosen[-1], None)
    return QueryKey(queries, keys, *chosen)


def _label(tokens: tuple[Token, ...], at: int) -> str:
    return f"{at} · {tokens[at].text}"


def unfolded(opened: InspectedTrace, kind: str, *, layer: int, head: int, link: QueryKey, words: bool) -> Unfolded | None:
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
    if words and (step := merge_step(attention, layer=layer, head=head, query=link.query, key=link.key)):
        # Before the context: it is the heatmap's number, and no further step needs it.
        steps = (*steps[: last + 1], step, *steps[last + 1 :])
    return Unfolded(steps, last, weight, abs(weight - computed))
