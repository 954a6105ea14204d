"""Encode: type a sentence, see what every head of a transformer looks at."""

import streamlit as st

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import describe_head, describe_hidden, describe_link
from attnviz.core.errors import TraceError
from attnviz.ui.address.state import finish
from attnviz.ui.background.results import trace
from attnviz.ui.download import kept_head
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.output import show_reading
from attnviz.ui.edit.panel import show_buttons, show_panel
from attnviz.ui.edit.state import editor
from attnviz.ui.encode.compare import show_compared
from attnviz.ui.encode.head_label import tell_head_label
from attnviz.ui.examples import Example, examples
from attnviz.ui.explain import belief, computation, keep, notices
from attnviz.ui.explorer import explore, places_of, selected_cell, show_bertviz
from attnviz.ui.layout import answer, escaped, header, hero, story
from attnviz.ui.prompt import OTHER, PAIR, prompt_box
from attnviz.ui.quantity import Weighed, in_python, tell_weighing, weigh
from attnviz.ui.sidebar import HeadChoice, forced_target, head_controls, machine, map_picker, model_picker
from attnviz.ui.trace_file import opened


def show(traced: Weighed, shown: Shown, choice: HeadChoice, example: Example | None) -> None:
    """The sentences that the numbers of the picture make, and below them the picture in its frame."""
    attention, editing = shown.current, shown.editing
    matrix = head_matrix(attention, layer=choice.layer, head=choice.head, view=choice.view)
    cell = selected_cell(matrix) or focus_cell(head_matrix(shown.first, layer=choice.layer, head=choice.head, view=choice.view))
    name = traced.named(choice.layer, choice.head)
    link = describe_link(matrix, name, cell, traced.number)
    whole = head_matrix(attention, layer=choice.layer, head=choice.head, view=View(words=choice.view.words))
    with hero() as heading:
        story(*(shown.sentences(choice) or (link, describe_head(whole, traced.number))), place=heading)
        if editing:
            show_panel(editing, shown.before, alike=shown.alike)
        show_reading(model, shown)
        drawn = shown.choice(choice)
        picture = head_matrix(shown.drawn, layer=choice.layer, head=choice.head, view=drawn.view)
        view = explore(shown.drawn, drawn, (picture, cell), extra=("BertViz",), editing=editing)
        if editing and editing.on:
            show_buttons(editing, places_of(attention, choice.view), (choice.layer, choice.head), (matrix, cell))
        if view == "BertViz":
            show_bertviz(attention, choice)
    show_compared(traced, attention, choice, (matrix, cell), view)
    tell_head_label(traced, attention, choice)
    if hidden := describe_hidden(matrix, choice.view.renormalize, traced.number):
        st.caption(hidden)
    if example:
        st.caption(f":material/lightbulb: {example.notice}")
    if not tell_weighing(traced.changes, attention.kind, choice.layer):
        computation(attention, matrix, choice, cell)


header("Encode", "Type a sentence. See what every head of a transformer looks at.")
model = model_picker()
prompt, example = prompt_box("encode", further=(PAIR, OTHER))
asked = forced_target(prompt) if prompt else None
before = opened(model, asked) or (trace(model, asked) if asked else None)
if before and asked:
    editing = None if before.file else editor("", model, asked)
    traced = (trace(model, asked, editing.edits) if editing and editing.edits else None) or before
    notices(traced)
    traced = weigh(model, traced)
    attention = map_picker(traced)
    shown = Shown.of(before.trace if traced.trace.edits else traced.trace, traced.trace, attention.kind, editing)
    first = example or examples("encode")[0]
    choice = head_controls(attention, layer=first.layer, head=first.head, paired=traced.trace.prompt.pair is not None)
    machine(traced)
    answer(traced.trace.output)
    try:
        show(traced, shown, choice, example)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    belief()
    kept = before if shown.compared == "Before" else traced
    keep([in_python(kept_head(model, kept, shown.current, choice), model, traced.changes)])
finish()
