"""Home: type a sentence and see its picture; the way to examples, and to what other pages make of it."""

import streamlit as st

from attnviz.analysis.view import HeadView, View
from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.paths import page_file
from attnviz.ui.address.state import LINK_CHARACTERS, finish
from attnviz.ui.address.words import HOW, ask
from attnviz.ui.background.results import run
from attnviz.ui.examples import Example, examples
from attnviz.ui.explain import show_text_notices
from attnviz.ui.explorer import show_words
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt import example_address, sentence_box

# Page, name, icon, what its address calls the text, and one line.
METHODS = (
    ("encode", "Every head", "grid_on", "text", "All heads at once, any of them large: matrix, arcs, text."),
    ("translate", "Translate it", "translate", "text", "Which English words each French word came from."),
    ("answer", "Ask about it", "quiz", "passage", "The words that answer a question, marked in the text."),
    ("summarize", "Summarize it", "short_text", "text", "The words and sentences that attention keeps."),
    ("heads", "Name each head", "manage_search", "", "What each head does in 1,500 sentences. Claim something, and test it."),
    ("whatif", "Change something", "tune", "text", "Another word, a head off, another model: what changes in every head."),
    ("matters", "Find what matters", "balance", "text", "Which words an output depends on, asked in many ways."),
    ("compute", "Compute it", "calculate", "text", "Every number of attention, step by step."),
    ("train", "Watch one learn", "model_training", "", "An alignment emerges while a small model learns."),
)


# What of Home's address is in Encode's as well.
SHOWN = ("layer", "head", "query", "key", "queries", "keys")


def show_sentence(result: Result, example: Example) -> None:
    """The sentence as words that can be clicked, where one of them looks, and every head that reads it."""
    attention = result.trace.encoder
    question = ask(attention, View(), (example.layer, example.head))
    with hero() as heading:
        heading.caption(HOW)
        show_words(attention, HeadView(*question.place, View(), True), question)


def example_cards(shown: tuple[Example, ...]) -> None:
    """Sentences worth a look, each opened on Encode at the link that it is about."""
    with st.container(key="cards-examples"):
        for number, example in enumerate(shown):
            with st.container(border=True, gap=None, key=f"card-example-{number}"):
                st.page_link(page_file("encode"), label=f"**{example.label}**", query_params=example_address(example))
                st.caption(example.notice)


def page_cards(text: str) -> None:
    """What the other pages make of the text; one of the visitor's own goes along where a link can hold it."""
    with st.container(key="cards-pages"):
        for page, label, icon, name, line in METHODS:
            given = {name: text} if text and name and len(text) <= LINK_CHARACTERS else {}
            if page == "encode":
                given |= {name: value for name, value in st.session_state.address.items() if name in SHOWN}
            if page == "compute" and given:
                given["source"] = "model"
            with st.container(border=True, gap=None, key=f"card-{page}"):
                st.page_link(page_file(page), label=f"**{label}**", icon=f":material/{icon}:", query_params=given)
                st.caption(line)


header("attnviz", "Type a sentence. See what every attention head of a real model does with it.", page="home")
first = examples("encode")[0]
prompt = sentence_box(first.text)
result = run(catalog.available()[0], "encode", prompt) if prompt else None
if result:
    show_text_notices(result)
    try:
        show_sentence(result, first)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
example_cards(examples("encode"))
page_cards(prompt.text if prompt and prompt.text != first.text else "")
if result:
    fill_toolbar("Opens this very picture")
finish()
