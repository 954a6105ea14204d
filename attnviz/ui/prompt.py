"""What a person types: the text, an optional second sentence, examples as chips beside it, and Run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt
from attnviz.ui.address.state import LINK_CHARACTERS, forget_cell, remember, remembered
from attnviz.ui.boxes import Box, forget_typed, is_drafted, keep_typed, run_boxes, tell_unrun
from attnviz.ui.examples import Example, examples
from attnviz.ui.layout import escaped
from attnviz.ui.permissions import check_length


@dataclass(frozen=True)
class Further:
    """A box below the first that a switch brings: the name of its text, what it is called, and what it is for."""

    name: str
    switch: str
    label: str
    placeholder: str

    @property
    def box(self) -> Box:
        return Box(f"typed_{self.name}", self.label, self.placeholder)

    @property
    def key(self) -> str:
        return f"with_{self.name}"


PAIR = Further("pair", "Second sentence", "A second sentence", "Type a second sentence; the model reads both at once")
OTHER = Further("other", "Compare", "A sentence to compare with", "Type another sentence; it is read by itself, and compared")


def prompt_box(
    page: str, *, further: Sequence[Further] = (PAIR,), forget: Callable[[], None] = forget_cell
) -> tuple[Prompt | None, Example | None]:
    """Draws the box; returns the prompt that was run last, and the example it is, if it is one.

    `further` are the boxes that it offers besides; `forget` lets go of what belonged to the text before. The prompt is None
    after the page has said what is wrong with what was typed. Nothing typed is ever lost.
    """
    first = examples(page)[0]
    run = {"typed": remembered("text", first.text)}
    boxes = [Box("typed", "Your text", "Type a sentence")]
    for each in further:
        text = remembered(each.name, getattr(first, each.name) if each is PAIR else "")
        if text or each.key not in st.session_state:
            st.session_state[each.key] = bool(text) or is_drafted(each.box.key)
        if st.session_state[each.key]:
            boxes.append(each.box)
            run[each.box.key] = text
    if typed := run_boxes(boxes, run):
        forget()
        run = typed
    text, pair = run["typed"], run.get(PAIR.box.key, "")
    remember("text", text, first.text)
    for each in further:
        remember(each.name, run.get(each.box.key, ""), first.pair if each is PAIR else "")
    if run.get(OTHER.box.key) == "":
        # Nothing to compare with: the box begins again with the text itself.
        st.session_state.update(other=text, with_other=bool(text))
        st.rerun()
    example = _chips(page, text, pair, further, forget)
    long_notice("text", text)
    prompt = _checked(lambda: Prompt(text, pair=pair or None), text, pair)
    return prompt, example if prompt else None


def sentence_box(first: str) -> Prompt | None:
    """A box for one text and Run, and nothing else; `first` is what stands there unasked. Returns what was run last.

    None after the page has said what is wrong with what was typed.
    """
    text = remembered("text", first)
    if typed := run_boxes([Box("typed", "Your text", "Type a sentence")], {"typed": text}):
        text = typed["typed"]
    tell_unrun()
    remember("text", text, first)
    long_notice("text", text)
    return _checked(lambda: Prompt(text), text)


def question_box(*, forget: Callable[[], None]) -> tuple[Prompt | None, Example | None]:
    """The same for a question and the passage that it is about."""
    shown = examples("answer")
    question, passage = remembered("question", shown[0].question), remembered("passage", shown[0].text)
    boxes = [
        Box("typed_question", "Question", "Ask something about the passage"),
        Box("typed_passage", "Passage", "Paste the text that may hold the answer"),
    ]
    if typed := run_boxes(boxes, {"typed_question": question, "typed_passage": passage}):
        forget()
        question, passage = typed["typed_question"], typed["typed_passage"]
    example = next((each for each in shown if (each.question, each.text) == (question, passage)), None)

    def choose(chosen: Example) -> None:
        forget()
        forget_typed()
        st.session_state.update(question=chosen.question, passage=chosen.text)

    with st.container(horizontal=True, vertical_alignment="center"):
        example_pills(shown, example, choose)
        tell_unrun()
    remember("question", question, shown[0].question)
    remember("passage", passage, shown[0].text)
    long_notice("passage", passage)
    if not passage.strip() or not question.strip():
        missing = "passage to look in yet: paste one" if not passage.strip() else "question yet: type one about the passage"
        st.error(f"There is no {missing}.", icon=":material/edit:")
        return None, None
    return _checked(lambda: Prompt(passage, question=question), passage, question), example


def _checked(make: Callable[[], Prompt], *texts: str) -> Prompt | None:
    """The prompt; None after the page has said what is wrong with it."""
    try:
        check_length(*texts)
        return make()
    except PromptError as error:
        st.error(escaped(error), icon=":material/edit:")
        return None


def long_notice(name: str, text: str) -> None:
    """Says that a text is not part of the link."""
    if len(text) > LINK_CHARACTERS:
        st.caption(f"This {name} is longer than {LINK_CHARACTERS:,} characters, so the page's address does not hold it.")


def example_pills(shown: Sequence[Example], current: Example | None, choose: Callable[[Example], None]) -> None:
    """The examples as chips; the one that was run is marked."""
    st.session_state.example = current.label if current else None

    def chosen() -> None:
        example = next((each for each in shown if each.label == st.session_state.example), current)
        if example is not None:
            choose(example)

    st.pills("Examples", [each.label for each in shown], key="example", on_change=chosen, label_visibility="collapsed")


def _chips(page: str, text: str, pair: str, further: Sequence[Further], forget: Callable[[], None]) -> Example | None:
    """The examples, the one that was run marked; and the switches of the boxes that the page offers besides."""
    shown = examples(page)
    current = next((example for example in shown if (example.text, example.pair) == (text, pair)), None)

    def choose(example: Example) -> None:
        forget()
        open_example(example)

    def turn(each: Further) -> None:
        # A late word of a page that was left turns nothing.
        if each.key not in st.session_state:
            return
        if each is OTHER:
            # The same text at first, to change a word of it.
            forget_typed(each.box.key)
            other = ((current and current.other) or text) if st.session_state[each.key] else ""
            st.session_state.update(other=other, with_other=bool(other), view="text")
        elif not st.session_state[each.key]:
            keep_typed(each.box.key)
            st.session_state[each.name] = ""

    with st.container(horizontal=True, vertical_alignment="center"):
        example_pills(shown, current, choose)
        tell_unrun()
        st.space("stretch")
        for each in further:
            st.toggle(each.switch, key=each.key, on_change=turn, args=(each,))
    return current


def address(example: Example) -> dict[str, str]:
    """The query parameters of a page that shows an example."""
    numbers = {name: str(getattr(example, name)) for name in ("layer", "head", "query", "key")}
    return {"text": example.text, "pair": example.pair, **numbers}


def open_example(example: Example) -> None:
    """Makes an example the prompt that is run, on the head and the link that it is about."""
    forget_typed()
    st.session_state.update(text=example.text, pair=example.pair, other="", with_other=False)
    if not example.has_link:
        st.session_state.target = example.target
        return
    st.session_state.update(with_pair=bool(example.pair), mean=False)
    st.session_state.update(layer=example.layer, head=example.head, query=example.query, key=example.key)
