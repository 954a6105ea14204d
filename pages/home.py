"""Home: what attnviz is, a picture to start from, and the way to the pages."""

import streamlit as st

from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import describe_link, head_name
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.ui.address.state import finish, visit
from attnviz.ui.background.results import trace
from attnviz.ui.examples import examples
from attnviz.ui.explorer import show_heads, show_tokens
from attnviz.ui.layout import header, hero, story
from attnviz.ui.prompt import address
from attnviz.ui.sidebar import HeadChoice

ENCODE = "pages/encode.py"
WAYS = (
    ("translate", "Translate it", "translate", "See a sentence in French, and which English words each French word came from."),
    ("answer", "Ask about a text", "quiz", "See the words that answer a question, and where question and passage meet."),
    (
        "summarize",
        "Summarize a text",
        "short_text",
        "See which words and sentences attention keeps, and how good it is at that.",
    ),
    ("compute", "Compute it by hand", "calculate", "Every number of attention, from words to weights, step by step."),
    ("train", "Watch a model learn", "model_training", "See an alignment emerge while a small model learns, in seconds."),
)

header("attnviz", "Type a sentence. See what every attention head of a real model does with it.", page="home")
shown = examples("encode")
first = shown[0]
traced = trace(catalog.available()[0], Prompt(first.text))
picture, start = st.columns([3, 2], gap="large")
if traced:
    attention = traced.trace.encoder
    matrix = head_matrix(attention, layer=first.layer, head=first.head)
    with picture, hero():
        show_tokens(matrix, first.query)
        story(describe_link(matrix, head_name(first.layer, first.head), (first.query, first.key)))
        st.caption(f"All {attention.n_layers} × {attention.n_heads} heads of {traced.card.name}. Click one to open it.")

        def open_in_encode(layer: int, head: int | None) -> None:
            visit("encode", layer=layer, head=head, mean=head is None or None)

        show_heads(attention, HeadChoice(first.layer, first.head, View(), True), open_in_encode)
with start:
    st.subheader("Start here", anchor=False)
    for example in shown:
        with st.container(gap=None):
            st.page_link(ENCODE, label=f"**{example.label}**", icon=":material/arrow_forward:", query_params=address(example))
            st.caption(example.notice)
    st.page_link(ENCODE, label="**Your own sentence**", icon=":material/edit:")
    for page, label, icon, line in WAYS:
        with st.container(gap=None):
            st.page_link(f"pages/{page}.py", label=f"**{label}**", icon=f":material/{icon}:")
            st.caption(line)
finish()
