"""Summarize: type a text, see which of its words and sentences attention keeps."""

import streamlit as st

from attnviz.analysis.summarize.selection import Passage, Selection, choose, read_passage
from attnviz.analysis.summarize.selectors import Selector
from attnviz.analysis.summarize.summary_words import (
    NO_LOOK,
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
from attnviz.ui.explain import keep, notices
from attnviz.ui.layout import escaped, header, hero, story
from attnviz.ui.prompt import prompt_box
from attnviz.ui.sidebar import machine
from attnviz.ui.summarize.kept import kept_summary
from attnviz.ui.summarize.pictures import (
    Options,
    chosen_way,
    every_way,
    explained,
    forget_word,
    headline,
    honest_line,
    options,
    reference_box,
    show_heads,
    show_passage,
    show_ways,
    show_written,
    summarizer_picker,
)


def show(traced: Traced, attention: AttentionMap, found: Passage, kept: Selection, way: Selector, chosen: Options) -> None:
    """The summary and the text it was taken from, and sentences that their numbers make."""
    words = summary_words(attention, found, layer=chosen.layer, head=chosen.head) if traced.trace.output else ()
    word = None
    with hero():
        if words:
            word = show_written(words)
        else:
            headline(traced, found, kept, way)
        st.caption(
            "A bar is what the chosen word of the summary gave to each word of the text while it was written."
            if word
            else "Marked words and sentences are kept. A bar is the attention that a word receives."
        )
        show_passage(found, kept, way, word)
    looks = way.tokens is not None
    sentences = (
        [describe_choice(found, kept, way.units), describe_sentences(found, kept, way.sentences)] if looks else [NO_LOOK]
    )
    if words:
        sentences = [describe_copies(words), describe_word_origin(word, found) if word else sentences[0]]
    story(*sentences)
    st.caption(f"**The kept words as text:** {escaped(found.words(kept.units))}")


header("Summarize", "Type a text. See which words and sentences attention keeps.")
model = summarizer_picker()
prompt, example = prompt_box("summarize", further=(), forget=forget_word)
place = st.sidebar.container()
traced = summarize(model, prompt) if prompt else None
if prompt and traced:
    notices(traced)
    trace, selects = traced.trace, traced.card.selects
    attention = trace.cross if "cross" in trace.kinds else trace.maps[0]
    chosen = options(attention, selects, place)
    shown = []
    machine(traced)
    try:
        found = read_passage(prompt.text, attention.keys, words=chosen.words, punctuation=chosen.punctuation)
        all_ways = every_way(found, traced, chosen)
        way = chosen_way(all_ways, chosen.way)
        kept = choose(found, way.units, way.sentences, chosen.amount)
        show(traced, attention, found, kept, way, chosen)
        shown = [kept_summary(model, traced, attention, (chosen.layer, chosen.head), (found, kept, way))]
        if example:
            st.caption(f":material/lightbulb: {example.notice}")
        honest_line()
        st.subheader("Every way to choose, side by side", anchor=False)
        show_ways(found, all_ways, way, chosen.amount, reference_box())
        st.subheader("Which heads look at what was kept?", anchor=False)
        st.caption("Percent of what each head gives to words that goes to the kept ones. Click a head to choose by it alone.")
        show_heads(attention, found, kept, chosen)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
    explained()
    keep(shown)
finish()
