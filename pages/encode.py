"""Encode: type a sentence, see what every head of a transformer looks at."""

from dataclasses import replace

import streamlit as st

from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.wording import CLICK_WORDS, NUMBERS, describe_head, describe_hidden, describe_link, head_title
from attnviz.core.errors import TraceError
from attnviz.ui.address.address_sync import WordQuestion, finish
from attnviz.ui.background.results import in_quantity
from attnviz.ui.download import head_download, opened_file, show_toolbar
from attnviz.ui.edit import CurrentMap, current_result, run_edited
from attnviz.ui.edit_panel import show_edit_buttons, show_edit_panel, show_reading
from attnviz.ui.explorer import (
    ShownHead,
    explain_quantity,
    explain_trust,
    explain_weight,
    explore,
    quantity_picker,
    show_bertviz,
    show_head_label,
)
from attnviz.ui.frame.sidebar import (
    forced_target,
    head_controls,
    language_picker,
    machine,
    map_picker,
    model_picker,
    own_language_button,
)
from attnviz.ui.layout import answer, escaped, header, hero, story
from attnviz.ui.prompt_box import Example, compare_button, examples, prompt_box, show_notice, show_text_notices


def show_head(current: CurrentMap, head: HeadView, question: WordQuestion, example: Example | None) -> None:
    """Show the text as words in the frame of the picture, where they look, all heads, and the one that is looked at."""
    result, attention, editing = current.result, current.current, current.editing
    matrix, number = head.matrix(attention), NUMBERS[result.quantity]
    cell = question.cell(matrix)
    whole = replace(head, view=View(words=head.view.words)).matrix(attention)
    with hero() as heading:
        edited = current.describe_edited(head)
        if edited:
            story(*edited, place=heading)
        else:
            heading.caption(CLICK_WORDS)
        show_edit_panel(current)
        show_reading(result)
        drawn = current.drawn_as(head)
        picture = ShownHead(current.drawn, drawn, drawn.matrix(current.drawn), cell)
        view = explore(picture, extra=("BertViz",), question=question, editing=editing)
        show_edit_buttons(editing, ShownHead(attention, head, matrix, cell))
        if view == "BertViz":
            show_bertviz(attention, head)
    show_head_label(result, attention, head)
    with st.container(key="desk-said"):
        link = describe_link(matrix, head_title(result.quantity, head.layer, head.head), cell, number)
        story(link, describe_head(whole, number))
    if hidden := describe_hidden(matrix, head.view.renormalize, number):
        st.caption(hidden)
    show_notice(example, current_result(result, editing))
    if not explain_quantity(result, attention.kind, head.layer):
        explain_weight(attention, matrix, head, cell)


header("encode")
model = model_picker()
typed, example = prompt_box("encode", beside=compare_button)
prompt = forced_target(typed, model) if typed else None
file = opened_file(model, prompt)
ran = (file, None) if file else run_edited(model, "encode", prompt) if prompt else None
if ran:
    result, editing = ran
    show_text_notices(result)
    result = in_quantity(result, quantity_picker([result], st.sidebar))
    attention = map_picker(result.trace)
    language_picker(result.card, st.sidebar)
    first = example or examples("encode")[0]
    current, paired, downloads = CurrentMap(result, attention.kind, editing), result.prompt.pair is not None, []
    answer(result.trace.output)
    try:
        head, question = head_controls(current.first, (first.layer, first.head), paired=paired)
        downloads = [head_download(current_result(result, editing), attention.kind, head)]
        show_head(current, head, question, example)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    machine(result)
    explain_trust()
    show_toolbar(downloads)
elif prompt:
    own_language_button(model)
finish()
