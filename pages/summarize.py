"""Summarize: type a text, see which of its words and sentences attention keeps."""

import streamlit as st

from attnviz.analysis.summary_selection import ABOUT_SHARES
from attnviz.core.errors import TraceError
from attnviz.ui import summarize
from attnviz.ui.address.address_sync import finish
from attnviz.ui.background.results import in_quantity
from attnviz.ui.download import show_toolbar
from attnviz.ui.edit import CurrentMap, current_result, run_edited
from attnviz.ui.edit_panel import edit_toggle
from attnviz.ui.explorer import explain_quantity, quantity_picker
from attnviz.ui.frame.sidebar import machine
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt_box import prompt_box, show_notice, show_text_notices

header("summarize")
model = summarize.summarizer_picker()
prompt, example = prompt_box("summarize", further=(), forget=summarize.forget_word)
sidebar = st.sidebar.container()
if prompt and (ran := run_edited(model, "summarize", prompt)):
    result, editing = ran
    shown = current_result(result, editing)
    show_text_notices(shown)
    current = CurrentMap(result, "cross" if "cross" in shown.trace.kinds else shown.trace.kinds[0], editing)
    view = summarize.summary_view_picker(current.current, shown.card.selects, sidebar)
    # What is kept is chosen by weights all the same: so selectors are defined, and measured.
    moving = in_quantity(result, quantity_picker([result], sidebar))
    heads = CurrentMap(moving, current.kind, editing)
    downloads = []
    machine(shown)
    try:
        summary = summarize.summary_of(shown, current.current, view)
        written = summarize.written_summary(shown, current.current, summary, view)
        with hero() as beside:
            story(*summarize.describe_summary(summary, written), place=beside)
            summarize.show_summary_edits(current, view)
            left, right = st.columns([5, 7], gap="medium")
            with left, st.container(key="desk-ways"):
                summarize.show_selectors(summary, model, summarize.reference_summary())
            with right:
                summarize.show_summary(shown, summary, written)
        show_notice(example, shown)
        summarize.reference_box()
        summarize.show_measured()
        downloads = [summarize.summary_download(current_result(moving, editing), heads, view, summary)]
        st.caption(f"**The kept words as text:** {escaped(summary.passage.words(summary.selection.units))}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader("Which heads look at what was kept?", anchor=False)
            edit_toggle(st.container(width="content"), ("",))
        st.caption(ABOUT_SHARES)
        explain_quantity(moving, heads.kind, view.layer)
        summarize.show_every_head(heads, summary, view)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    summarize.explain_choice()
    show_toolbar(downloads)
finish()
