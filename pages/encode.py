"""Encode: type a sentence, see what every head of a transformer looks at."""

import streamlit as st

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import describe_head, describe_hidden, describe_link, head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap
from attnviz.ui.address.state import finish
from attnviz.ui.background.results import Traced, trace
from attnviz.ui.download import kept_head
from attnviz.ui.encode.compare import show_compared
from attnviz.ui.encode.head_label import tell_head_label
from attnviz.ui.examples import Example, examples
from attnviz.ui.explain import belief, computation, keep, notices
from attnviz.ui.explorer import explore, selected_cell, show_bertviz
from attnviz.ui.layout import answer, escaped, header, hero, story
from attnviz.ui.prompt import OTHER, PAIR, prompt_box
from attnviz.ui.sidebar import HeadChoice, forced_target, head_controls, machine, map_picker, model_picker
from attnviz.ui.trace_file import opened


def show(traced: Traced, attention: AttentionMap, choice: HeadChoice, example: Example | None) -> None:
    """The sentences that the numbers of the picture make, and below them the picture in its frame."""
    matrix = head_matrix(attention, layer=choice.layer, head=choice.head, view=choice.view)
    cell = selected_cell(matrix) or focus_cell(matrix)
    name = head_name(choice.layer, choice.head)
    link = describe_link(matrix, name, cell)
    whole = head_matrix(attention, layer=choice.layer, head=choice.head, view=View(words=choice.view.words))
    with hero() as told:
        story(link, describe_head(whole), place=told)
        view = explore(attention, choice, matrix, cell, extra=("BertViz",))
        if view == "BertViz":
            show_bertviz(attention, choice)
    show_compared(traced, attention, choice, (matrix, cell), view)
    tell_head_label(traced, attention, choice)
    if hidden := describe_hidden(matrix, choice.view.renormalize):
        st.caption(hidden)
    if example:
        st.caption(f":material/lightbulb: {example.notice}")
    computation(attention, matrix, choice, cell)


header("Encode", "Type a sentence. See what every head of a transformer looks at.")
model = model_picker()
prompt, example = prompt_box("encode", further=(PAIR, OTHER))
asked = forced_target(prompt) if prompt else None
traced = opened(model, asked) or (trace(model, asked) if asked else None)
if traced:
    notices(traced)
    attention = map_picker(traced)
    first = example or examples("encode")[0]
    choice = head_controls(attention, layer=first.layer, head=first.head, paired=traced.trace.prompt.pair is not None)
    machine(traced)
    answer(traced.trace.output)
    try:
        show(traced, attention, choice, example)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    belief()
    keep([kept_head(model, traced, attention, choice)])
finish()
