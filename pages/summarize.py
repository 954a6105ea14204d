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
from attnviz.ui.address.state import finish
from attnviz.ui.background.results import Traced, summarize
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.panel import edit_toggle, show_panel
from attnviz.ui.edit.state import editor
from attnviz.ui.explain import keep, notices
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt import prompt_box
from attnviz.ui.quantity import tell_weighing
from attnviz.ui.sidebar import machine
from attnviz.ui.summarize.download import kept_summary
from attnviz.ui.summarize.edited import tell_kept, weighed_maps
from attnviz.ui.summarize.notices import explained, headline, honest_line
from attnviz.ui.summarize.view import (
    Options,
    Summary,
    forget_word,
    options,
    reference_box,
    show_heads,
    show_passage,
    show_ways,
    show_written,
    summarizer_picker,
    summary_of,
)


def show(traced: Traced, attention: AttentionMap, shown: Summary, chosen: Options, beside: DeltaGenerator) -> None:
    """The chosen way large: the summary, the text it was taken from, and sentences that their numbers make."""
    words = summary_words(attention, shown.passage, layer=chosen.layer, head=chosen.head) if traced.trace.output else ()
    word = None
    if words:
        word = show_written(words)
    else:
        headline(traced, shown.passage, shown.selection, shown.way)
    show_passage(shown, word)
    st.caption(
        "A bar is what the chosen word of the summary gave to each word of the text while it was written."
        if word
        else "Marked words and sentences are kept. A bar is the attention that a word receives."
    )
    tell(shown, words, word, beside)


def tell(shown: Summary, words: tuple[SummaryWord, ...], word: SummaryWord | None, place: DeltaGenerator) -> None:
    """Sentences made of the numbers: how much attention the kept words receive, or where the words of a summary came from."""
    passage, kept, way = shown.passage, shown.selection, shown.way
    sentences = [NO_LOOK]
    if way.tokens is not None:
        sentences = [describe_choice(passage, kept, way.units), describe_sentences(passage, kept, way.sentences)]
    if words:
        sentences = [describe_copies(words), describe_word_origin(word, passage) if word else sentences[0]]
    story(*sentences, place=place)


header("Summarize", "Type a text. See which words and sentences attention keeps.")
model = summarizer_picker()
prompt, example = prompt_box("summarize", further=(), forget=forget_word)
place = st.sidebar.container()
before = summarize(model, prompt) if prompt else None
if prompt and before:
    editing = editor("", model, prompt)
    after = (summarize(model, prompt, editing.edits) if editing.edits else None) or before
    traced = before if editing.compared == "Before" else after
    notices(traced)
    maps = Shown.of(before.trace, after.trace, "cross" if "cross" in traced.trace.kinds else traced.trace.kinds[0], editing)
    attention = maps.current
    chosen = options(attention, traced.card.selects, place)
    weighed, seen = weighed_maps(model, (before, after), maps, place)
    shown = []
    machine(traced)
    try:
        summary = summary_of(traced, attention, chosen)
        picture, below = st.container(), st.container()
        with below:
            if example:
                st.caption(f":material/lightbulb: {example.notice}")
            reference = reference_box()
            honest_line()
        with picture, hero() as beside:
            show_panel(editing, before.trace, alike=maps.alike)
            if maps.is_edited:
                tell_kept(before, after, maps, chosen)
            left, right = st.columns([5, 7], gap="medium")
            with left, st.container(key="desk-ways"):
                show_ways(summary, model, reference)
            with right:
                show(traced, attention, summary, chosen, beside)
        own, marked = chosen.as_in(seen.current), (summary.passage, summary.selection, summary.way)
        shown = [kept_summary(model, weighed, seen.current, (own.layer, own.head), marked)]
        st.caption(f"**The kept words as text:** {escaped(summary.passage.words(summary.selection.units))}")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader("Which heads look at what was kept?", anchor=False)
            edit_toggle(st.container(width="content"), ("",))
        st.caption("Percent of what each head gives to words that goes to the kept ones. Click a head to choose by it alone.")
        tell_weighing(weighed.changes, seen.kind, chosen.layer)
        show_heads(seen, summary, own)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    explained()
    keep(shown)
finish()
