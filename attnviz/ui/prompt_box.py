"""What a person types on most pages: a text, an optional second one or a question, examples as chips beside it, and Run."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from attnviz.core.trace import Prompt
from attnviz.ui.address.address_sync import forget_cell, remember, remembered, visit
from attnviz.ui.examples import Example, examples
from attnviz.ui.text_boxes import (
    TextBox,
    checked_prompt,
    forget_typed,
    is_drafted,
    keep_typed,
    long_notice,
    run_texts,
    text_box,
    unrun_notice,
)

# Boxes below the first that a switch brings.
PAIR = TextBox("pair", "A second sentence", "Type a second sentence; the model reads both at once")
_SWITCHES = {"pair": "Second sentence"}


def prompt_box(
    page: str,
    *,
    further: Sequence[TextBox] = (PAIR,),
    forget: Callable[[], None] = forget_cell,
    beside: Callable[[str, Example | None], None] = lambda text, example: None,
) -> tuple[Prompt | None, Example | None]:
    """Draws the box; returns the prompt that was run last, and the example it is, if it is one.

    `further` are the boxes that it offers besides; `forget` lets go of what belonged to the text before; `beside` draws what
    else stands beside the examples, of the text that was run and the example that it is. The prompt is None after the page has
    said what is wrong with what was typed. Nothing typed is ever lost.
    """
    state, first = st.session_state, examples(page)[0]
    further = [replace(box, first=first.pair) if box.name == "pair" else box for box in further]
    boxes = [text_box(first=first.text)]
    for box in further:
        run, switch = remembered(box.name, box.first), _switch(box)
        if run or switch not in state:
            state[switch] = bool(run) or is_drafted(box.typed_key)
        if state[switch]:
            boxes.append(box)
        else:
            remember(box.name, "", box.first)
    texts = run_texts(boxes, forget)
    text, pair = texts["text"], texts.get("pair", "")
    example = _chips(page, (text, pair), further, forget, beside)
    long_notice("text", text)
    prompt = checked_prompt(lambda: Prompt(text, pair=pair or None), text, pair)
    return prompt, example if prompt else None


def sentence_box(first: str) -> Prompt | None:
    """A box for one text and Run, and nothing else; `first` is what is run on a first visit. Returns what was run last.

    None after the page has said what is wrong with what was typed.
    """
    text = run_texts([text_box(first=first)], forget_cell)["text"]
    unrun_notice()
    long_notice("text", text)
    return checked_prompt(lambda: Prompt(text), text)


def question_box(*, forget: Callable[[], None]) -> tuple[Prompt | None, Example | None]:
    """The same as `prompt_box` for a question and the passage that it is about."""
    shown = examples("answer")
    boxes = [
        TextBox("question", "Question", "Ask something about the passage", shown[0].question),
        TextBox("passage", "Passage", "Paste the text that may hold the answer", shown[0].text),
    ]
    texts = run_texts(boxes, forget)
    question, passage = texts["question"], texts["passage"]
    example = next((each for each in shown if (each.question, each.text) == (question, passage)), None)

    def choose(chosen: Example) -> None:
        forget()
        forget_typed()
        st.session_state.update(question=chosen.question, passage=chosen.text)

    with st.container(horizontal=True, vertical_alignment="center"):
        example_pills(shown, example, choose)
        unrun_notice()
    long_notice("passage", passage)
    if not passage.strip() or not question.strip():
        missing = "passage to look in yet: paste one" if not passage.strip() else "question yet: type one about the passage"
        st.error(f"There is no {missing}.", icon=":material/edit:")
        return None, None
    return checked_prompt(lambda: Prompt(passage, question=question), passage, question), example


def example_pills(shown: Sequence[Example], current: Example | None, choose: Callable[[Example], None]) -> None:
    """The examples as chips; the one that was run is marked."""
    st.session_state.example = current.label if current else None

    def chosen() -> None:
        example = next((each for each in shown if each.label == st.session_state.example), current)
        if example is not None:
            choose(example)

    st.pills("Examples", [each.label for each in shown], key="example", on_change=chosen, label_visibility="collapsed")


def _chips(
    page: str,
    run: tuple[str, str],
    further: Sequence[TextBox],
    forget: Callable[[], None],
    beside: Callable[[str, Example | None], None],
) -> Example | None:
    """The examples, the one that was run marked; and the switches of the boxes that the page offers besides."""
    shown = examples(page)
    current = next((example for example in shown if (example.text, example.pair) == run), None)

    def choose(example: Example) -> None:
        forget()
        open_example(example)

    def turn(box: TextBox) -> None:
        state, switch = st.session_state, _switch(box)
        # A late word of a page that was left turns nothing.
        if switch not in state:
            return
        if not state[switch]:
            keep_typed(box.typed_key)
            state[box.name] = ""

    with st.container(horizontal=True, vertical_alignment="center"):
        example_pills(shown, current, choose)
        unrun_notice()
        st.space("stretch")
        for box in further:
            st.toggle(_SWITCHES[box.name], key=_switch(box), on_change=turn, args=(box,))
        beside(run[0], current)
    return current


def compare_button(text: str, example: Example | None) -> None:
    """The way to What if, with the same text twice, to change a word of the second; of an example, with its word changed."""
    st.button(
        "Compare", key="to-compare", type="tertiary", icon=":material/compare_arrows:",
        help="Opens What if: change a word, and see which heads look elsewhere.", on_click=visit, args=("whatif",),
        kwargs={"model": st.session_state.get("model"), "text": text, "other": (example and example.other) or text},
    )  # fmt: skip


def _switch(box: TextBox) -> str:
    return f"with_{box.name}"


def example_address(example: Example) -> dict[str, str]:
    """The query parameters of a page that shows an example."""
    numbers = {name: str(getattr(example, name)) for name in ("layer", "head", "query", "key")}
    return {"text": example.text, "pair": example.pair, **numbers}


def open_example(example: Example) -> None:
    """Makes an example the prompt that is run, on the head and the link that it is about."""
    forget_typed()
    st.session_state.update(text=example.text, pair=example.pair)
    if not example.has_link:
        st.session_state.target = example.target
        return
    st.session_state.update(with_pair=bool(example.pair), mean=False, pinned=True)
    st.session_state.update(layer=example.layer, head=example.head, query=example.query, key=example.key)
