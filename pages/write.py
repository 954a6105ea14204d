"""Write: type the beginning of a text, see which words a language model finds likely to come next, and let it write on."""

from dataclasses import replace

import streamlit as st

from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.wording import NUMBERS, describe_head, describe_link, head_title
from attnviz.core.errors import TraceError
from attnviz.core.trace import Prompt
from attnviz.ui import write
from attnviz.ui.address.address_sync import WordQuestion, finish
from attnviz.ui.download import head_download, show_toolbar
from attnviz.ui.edit import CurrentMap, current_result, run_edited
from attnviz.ui.edit_panel import show_edit_buttons, show_edit_panel
from attnviz.ui.explorer import ShownHead, explore
from attnviz.ui.frame.sidebar import head_controls, language_picker, machine, own_language_button, written_language
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt_box import examples, prompt_box, show_notice, show_text_notices


def show_writing(
    current: CurrentMap, upcoming: write.Upcoming, head: HeadView, question: WordQuestion, *, prompt: Prompt, writes: bool
) -> None:
    """Show what comes next, in a sentence, in the text and as bars; and below it where the heads looked."""
    attention, editing = current.current, current.editing
    matrix = head.matrix(attention)
    cell = question.cell(matrix)
    with hero() as heading:
        write.show_sentence(upcoming, heading)
        show_edit_panel(current)
        write.show_written_changes(current.result)
        place = write.show_text(upcoming)
        if writes:
            write.write_on(current.result.name, prompt, current.result.unedited.trace, place)
        left, right = st.container(key="coming").columns([7, 5], gap="medium")
        with left:
            write.show_bars(upcoming, write.sampling(), edited=bool(upcoming.trace.edits))
        with right:
            write.write_buttons(write.written_pieces())
            write.sampling_picker()
        if current.kind == "decoder":
            write.show_why(upcoming, current.result, (head.layer, head.head))
    with st.container(border=True):
        drawn = current.drawn_as(head)
        picture = ShownHead(current.drawn, drawn, drawn.matrix(current.drawn), cell)
        explore(picture, question=question, editing=editing)
        show_edit_buttons(editing, ShownHead(attention, head, matrix, cell))
    with st.container(key="desk-said"):
        number, whole = NUMBERS["weights"], replace(head, view=View(words=head.view.words)).matrix(attention)
        story(describe_link(matrix, head_title("weights", head.layer, head.head), cell, number), describe_head(whole, number))


header("write")
write.keep_begun()
model = write.writer_picker()
typed, example = prompt_box("write", further=(), forget=write.forget_written, beside=write.chat_toggle)
prompt = write.in_chat(model, replace(typed, language=written_language(model))) if typed else None
written, writes = write.written_pieces(), write.asked_to_write()
if prompt:
    options = replace(write.sampling(), begins=written, anew=True, held=write.held_pieces(written))
    if ran := run_edited(model, "write", prompt, options=options):
        result, editing = ran
        shown, downloads = current_result(result, editing), []
        show_text_notices(shown)
        language_picker(shown.card, st.sidebar, on_change=write.forget_written)
        kind = "cross" if "cross" in shown.trace.kinds else "decoder"
        current, first = CurrentMap(result, kind, editing), example or examples("write")[0]
        try:
            upcoming = write.Upcoming.of(shown.trace)
            place = (first.layer, first.head)
            head, question = head_controls(current.first, place, paired=False, unasked=upcoming.link)
            downloads = [head_download(shown, kind, head)]
            show_writing(current, upcoming, head, question, prompt=prompt, writes=writes)
            show_notice(example, shown)
        except TraceError as error:
            st.info(escaped(error), icon=":material/visibility_off:")
        machine(shown)
        write.explain_writing(shown)
        show_toolbar(downloads)
    else:
        own_language_button(model)
        if written:
            st.button("Back to the text", key="unwrite", icon=":material/undo:", on_click=write.forget_written)
finish()
