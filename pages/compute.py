"""Compute: every number of attention, from words to weights, on a small example or on any head of a model."""

import streamlit as st

from attnviz.analysis.compute.worked_example import worked_steps
from attnviz.analysis.wording import head_name
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap
from attnviz.models.compute.worked_example import compute
from attnviz.models.head_inputs import InspectedTrace
from attnviz.ui.address.state import finish
from attnviz.ui.address.widgets import segments, toggle
from attnviz.ui.background.results import opened
from attnviz.ui.compute.download import kept_example, kept_weight
from attnviz.ui.compute.link_steps import begun, forget_writing, link_picker, unfolded
from attnviz.ui.compute.steps import predict_picker, show_steps
from attnviz.ui.compute.tables import settings, starting_numbers, tables_editor, tokens_box
from attnviz.ui.compute.why import why_there
from attnviz.ui.download import Kept
from attnviz.ui.examples import Example, examples
from attnviz.ui.explain import keep
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt import prompt_box
from attnviz.ui.sidebar import forced_target, map_picker, model_picker, stepper

ROUNDED = "Digits are rounded so that what is shown adds up; the exact value is on hover."
SOURCES = {"worked": "An example", "model": "A model"}


def work_example() -> Kept | None:
    """A small example: tokens and tables to type into, and every matrix from X to the output."""
    tokens, lesson = tokens_box()
    if not tokens:
        st.info("There is nothing to compute yet: type a few words.", icon=":material/edit:")
        return None
    numbers = starting_numbers(tokens, lesson)
    chosen = settings(lesson, numbers)
    predict = predict_picker()
    picture = st.container()
    editor = st.expander("Type your own numbers", icon=":material/table_edit:")
    tables = tables_editor(editor, tokens, numbers, chosen, lesson)
    if tables is None:
        return None
    with picture:
        computed = compute(tables)
        with hero():
            seen = show_steps(worked_steps(tables, computed, chosen.head), first=lesson.step, cell=lesson.cell, predict=predict)
        st.caption(
            f":material/verified: Computed by attnviz's own modules; agrees with NumPy to {computed.difference:.0e}. " + ROUNDED
        )
        if seen:
            st.caption(f":material/lightbulb: {lesson.notice}")
    return kept_example(tables, computed, chosen.head)


def explain_head() -> Kept | None:
    """One weight of a real model."""
    model = model_picker()
    prompt, example = prompt_box("encode", forget=forget_writing)
    if not prompt:
        return None
    whole = forced_target(prompt)
    if whole.question:
        st.text(f"Question: {whole.question}")
    inspected = opened(model, whole, begun())
    if not inspected:
        return None
    attention = map_picker(inspected)
    return explain_cell(model, inspected, attention, example or examples("encode")[0])


def explain_cell(model: str, inspected: InspectedTrace, attention: AttentionMap, first: Example) -> Kept:
    """The steps of the weight that is chosen in the sidebar."""
    left, right = st.sidebar.columns(2)
    with left:
        layer = stepper("Layer", "layer", first.layer, attention.n_layers)
    with right:
        head = stepper("Head", "head", first.head, attention.n_heads)
    link = link_picker(attention, query=first.query, key=first.key)
    predict = predict_picker()
    words = toggle(st.sidebar, "Merge subwords to words", "words")
    kept = kept_weight(model, inspected.trace, attention, (layer, head), words=words)
    shown = unfolded(inspected, attention.kind, layer=layer, head=head, link=link, words=words)
    name = head_name(layer, head)
    if shown is None:
        weight = float(attention.weights(layer, head)[link.query, link.key])
        st.info(
            f"{name} gives “{escaped(link.key_token)}” {weight:.4f} of the attention of “{escaped(link.query_token)}”. This "
            "model shows its weights, but not what they were computed from: choose another model to see the steps.",
            icon=":material/visibility_off:",
        )
        return kept
    with hero():
        seen = show_steps(shown.steps, predict=predict)
    if seen:
        st.caption(
            f":material/verified: {name} of {escaped(inspected.trace.model)} has {shown.weight:.4f} in the heatmap; these "
            f"steps agree with it to {shown.difference:.0e}. {ROUNDED}"
        )
        why_there(model, inspected, attention.kind, (layer, head), (link.query, link.key))
    return kept


header("Compute", "Every number of attention, from words to weights. Step through it; click a cell to see where it came from.")
source = segments(st.sidebar, "Numbers from", "source", format_func=SOURCES.__getitem__)
kept = None
try:
    kept = work_example() if source != "model" else explain_head()
except AttnvizError as error:
    st.error(escaped(error), icon=":material/error:")
keep([kept] if kept else [])
finish()
