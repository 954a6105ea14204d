"""Summarize: type a text, see which of its words and sentences attention keeps."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.summarize.summary_words import (
    NO_LOOK,
    SummaryWord,
    describe_choice,
    describe_copies,
    describe_sentences,
    describe_word_origin,
    summary_words,
)
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap
from attnviz.models.result import Result
from attnviz.ui.address.state import finish
from attnviz.ui.background.results import in_quantity
from attnviz.ui.edit.current_map import CurrentMap, current_result
from attnviz.ui.edit.panel import edit_toggle
from attnviz.ui.edit.run import run_edited
from attnviz.ui.explain import show_text_notices, show_toolbar
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt import prompt_box
from attnviz.ui.quantity import explain_quantity, quantity_picker
from attnviz.ui.sidebar import machine
from attnviz.ui.summarize import controls, notices
from attnviz.ui.summarize.controls import SummaryView
from attnviz.ui.summarize.view import (
    Summary,
    show_every_head,
    show_passage,
    show_selectors,
    show_summary_edits,
    show_written,
    summary_download,
    summary_of,
)


def show(result: Result, attention: AttentionMap, shown: Summary, view: SummaryView, beside: DeltaGenerator) -> None:
    """What the chosen selector keeps, large: the summary, the text it was taken from, and sentences that their numbers make."""
    words = summary_words(attention, shown.passage, layer=view.layer, head=view.head) if result.trace.output else ()
    word = None
    if words:
        word = show_written(words)
    else:
        notices.show_kept(result, shown.passage, shown.selection, shown.selector)
    show_passage(shown, word)
    st.caption(
        "A bar is what the chosen word of the summary gave to each word of the text while it was written."
        if word
        else "Marked words and sentences are kept. A bar is the attention that a word receives."
    )
    tell(shown, words, word, beside)


def tell(shown: Summary, words: tuple[SummaryWord, ...], word: SummaryWord | None, place: DeltaGenerator) -> None:
    """Sentences made of the numbers: how much attention the kept words receive, or where the words of a summary came from."""
    passage, kept, selector = shown.passage, shown.selection, shown.selector
    sentences = [NO_LOOK]
    if selector.tokens is not None:
        sentences = [describe_choice(passage, kept, selector.units), describe_sentences(passage, kept, selector.sentences)]
    if words:
        sentences = [describe_copies(words), describe_word_origin(word, passage) if word else sentences[0]]
    story(*sentences, place=place)


header("Summarize", "Type a text. See which words and sentences attention keeps.")
model = controls.summarizer_picker()
prompt, example = prompt_box("summarize", further=(), forget=controls.forget_word)
sidebar = st.sidebar.container()
if prompt and (ran := run_edited(model, "summarize", prompt)):
    result, editing = ran
    shown = current_result(result, editing)
    show_text_notices(shown)
    current = CurrentMap(result, "cross" if "cross" in shown.trace.kinds else shown.trace.kinds[0], editing)
    view = controls.summary_view_picker(current.current, shown.card.selects, sidebar)
    # What is kept is chosen by weights all the same: so selectors are defined, and measured.
    moving = in_quantity(result, quantity_picker([result], sidebar))
    heads = CurrentMap(moving, current.kind, editing)
    downloads = []
    machine(shown)
    try:
        summary = summary_of(shown, current.current, view)
        picture, below = st.container(), st.container()
        with below:
            if example:
                st.caption(f":material/lightbulb: {example.notice}")
            reference = controls.reference_box()
            notices.show_measured()
        with picture, hero() as beside:
            show_summary_edits(current, view)
            left, right = st.columns([5, 7], gap="medium")
            with left, st.container(key="desk-ways"):
                show_selectors(summary, model, reference)
            with right:
                show(shown, current.current, summary, view, beside)
        downloads = [summary_download(current_result(moving, editing), heads, view, summary)]
        st.caption(f"**The kept words as text:** {escaped(summary.passage.words(summary.selection.units))}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader("Which heads look at what was kept?", anchor=False)
            edit_toggle(st.container(width="content"), ("",))
        st.caption("Percent of what each head gives to words that goes to the kept ones. Click a head to choose by it alone.")
        explain_quantity(moving, heads.kind, view.layer)
        show_every_head(heads, summary, view)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    notices.explain_choice()
    show_toolbar(downloads)
finish()
