"""Home: type a sentence and see its picture; the way to examples, and to what other pages make of it."""

import streamlit as st

from attnviz.analysis.head_view import HeadView, View
from attnviz.analysis.wording import CLICK_WORDS
from attnviz.core.errors import TraceError
from attnviz.models import catalog
from attnviz.models.result import Result
from attnviz.settings import page_file
from attnviz.ui.address.address_sync import ask, finish
from attnviz.ui.background.results import run
from attnviz.ui.download import file_box, reader_buttons
from attnviz.ui.explorer import show_words
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import escaped, header, hero
from attnviz.ui.prompt_box import Example, example_address, examples, sentence_box, show_text_notices

# What of Home's address is in Encode's as well.
SHOWN = ("layer", "head", "query", "key", "queries", "keys")


def show_sentence(result: Result, example: Example) -> None:
    """Show the sentence as words that can be clicked, where one of them looks, and every head that reads it."""
    attention = result.trace.encoder
    question = ask(attention, View(), (example.layer, example.head))
    with hero() as heading:
        heading.caption(CLICK_WORDS)
        show_words(attention, HeadView(*question.place, View(), True), question)


def example_cards(cards: tuple[Example, ...]) -> None:
    """Sentences worth a look, each opened on Encode at the link that it is about."""
    with st.container(key="cards-examples"):
        for number, example in enumerate(cards):
            with st.container(border=True, gap=None, key=f"card-example-{number}"):
                st.page_link(page_file("encode"), label=f"**{example.label}**", query_params=example_address(example))
                st.caption(example.notice)


header("home")
first = examples("encode")[0]
prompt = sentence_box(first.text)
result = run(catalog.available()[0], "encode", prompt) if prompt else None
if result:
    show_text_notices(result)
    try:
        show_sentence(result, first)
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
st.caption(
    "A **head** is one of the model's ways to look: for every word it shares out 100 %. "
    "**[CLS]** is a mark at the start of every text; a head that finds nothing often looks there. "
    "Looking is not understanding: what a head looks at may change nothing."
)
st.page_link(page_file("lessons"), label="Lessons, from the first one on", icon=":material/school:")
example_cards(examples("encode"))
with st.container(horizontal=True, vertical_alignment="center"):
    address = st.session_state.address
    reader_buttons({name: address[name] for name in SHOWN if name in address})
    with st.popover("Open a trace file", icon=":material/folder_open:", type="tertiary"):
        file_box()
if result:
    fill_toolbar("Opens this very picture")
finish()
