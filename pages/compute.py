"""Compute: every number of attention, from words to weights, on a small example or on any head of a model."""

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.analysis.compute import ROUNDED, link_steps, worked_steps
from attnviz.analysis.wording import head_name, power_of_ten
from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap
from attnviz.models.catalog import CATALOG
from attnviz.models.result import Result
from attnviz.ui import compute
from attnviz.ui.address.address_sync import finish, segments, url_value
from attnviz.ui.background.results import card
from attnviz.ui.download import Download, show_toolbar
from attnviz.ui.edit_panel import show_next_word
from attnviz.ui.frame.sidebar import (
    forced_target,
    head_steppers,
    language_picker,
    map_picker,
    merge_toggle,
    model_picker,
    own_language_button,
)
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt_box import Example, examples, prompt_box, show_text_notices

if TYPE_CHECKING:
    from attnviz.models.head_inputs import InspectedTrace

SOURCES = {"worked": "An example", "model": "A model"}


def compute_example() -> Download | None:
    """Show a small example: tokens and tables to type into, and every matrix from X to the output."""
    tokens, example = compute.tokens_box()
    if not tokens:
        st.info("There is nothing to compute yet: type a few words.", icon=":material/edit:")
        return None
    numbers = compute.starting_numbers(tokens, example)
    chosen = compute.settings_picker(example, numbers)
    predict = compute.predict_picker()
    picture = st.container()
    editor = st.expander("Type your own numbers", icon=":material/table_edit:")
    tables = compute.tables_editor(editor, tokens, numbers, chosen, example)
    if tables is None:
        return None
    with picture:
        computed = compute.worked_example(tables)
        with hero() as heading:
            steps = worked_steps(tables, computed, chosen.head, example.columns)
            is_revealed = compute.show_steps(steps, first=example.step, cell=example.cell, predict=predict)
            if is_revealed and compute.is_as_told(example, tables, chosen):
                heading.caption(f":material/lightbulb: {example.notice}")
        checked = f"Checked: NumPy computes the same numbers, to {power_of_ten(computed.difference)}."
        st.caption(f":material/verified: {checked} {ROUNDED}")
    return compute.example_download(tables, computed, chosen.head)


def compute_weight() -> Download | None:
    """Explain one weight of a real model."""
    model = model_picker()
    prompt, example = prompt_box("encode", forget=compute.forget_text_before)
    if not prompt:
        return None
    prompt = forced_target(prompt, model)
    if prompt.question:
        st.text(f"Question: {prompt.question}")
    # What a search on Translate has found is explained as it was written.
    opened = compute.inspected(model, prompt, tuple(url_value("begins", "").split()))
    if not opened:
        own_language_button(model)
        return None
    if model not in CATALOG and (known := card(model, prompt)):
        language_picker(known, st.sidebar)
    show_text_notices(Result(opened.trace, opened.model.card, 0.0))
    download = show_weight(model, opened, map_picker(opened.trace), example or examples("encode")[0])
    if opened.trace.kinds == ("decoder",):
        show_next_word(model, prompt)
    return download


def show_weight(model: str, opened: "InspectedTrace", attention: AttentionMap, first: Example) -> Download:
    """Show the steps of the weight that is chosen in the sidebar; `first` is what a first visit opens."""
    layer, head = head_steppers(st.sidebar, (first.layer, first.head), (attention.n_layers, attention.n_heads))
    link = compute.link_picker(attention, query=first.query, key=first.key)
    predict = compute.predict_picker()
    words = merge_toggle("words")
    name, inputs = head_name(layer, head), opened.head(attention.kind, layer, head)
    if inputs is None:
        weight = float(attention.weights(layer, head)[link.query, link.key])
        st.info(
            f"{name} gives “{escaped(link.key_token)}” {weight:.4f} of the attention of “{escaped(link.query_token)}”. This "
            "model shows its weights, but not what they were computed from: choose another model to see the steps.",
            icon=":material/visibility_off:",
        )
    else:
        computed = link_steps(inputs, attention, (layer, head), link, words=words)
        with hero():
            is_revealed = compute.show_steps(computed.steps, predict=predict)
        if is_revealed:
            st.caption(
                f":material/verified: {name} of {escaped(opened.trace.model)} has {computed.weight:.4f} in the heatmap; "
                f"these steps agree with it to {power_of_ten(computed.difference)}. {ROUNDED}"
            )
            compute.show_score_pairs(model, opened, attention.kind, (layer, head), (link.query, link.key))
    return compute.weight_download(model, opened.trace, attention, (layer, head), words=words)


header("compute")
source = segments(st.sidebar, "Numbers from", "source", format_func=SOURCES.__getitem__)
download = None
try:
    download = compute_weight() if source == "model" else compute_example()
except AttnvizError as error:
    st.error(escaped(error), icon=":material/error:")
show_toolbar([download] if download else [])
finish()
