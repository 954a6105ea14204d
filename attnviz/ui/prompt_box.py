"""What a person types on most pages: text boxes, examples as chips beside them, Run, and notices about the text."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import streamlit as st

from attnviz.analysis.wording import join_notices, text_notices
from attnviz.core.trace import Prompt
from attnviz.models.result import Result
from attnviz.settings import assets_folder
from attnviz.ui.address.address_sync import LINK_CHARACTERS, forget_cell, remember, remembered, visit_button
from attnviz.ui.layout import checked, escaped


@dataclass(frozen=True)
class Example:
    """A prompt, one line on what to notice, and the link it is shown for (layer, head, query, key, measured weight), if any.

    Of a translation, `word` is looked at first, and comes from `origin`; `target` is a translation that is given. Of a question
    about the text, `answer` is what answer-en finds; empty where it finds that the text does not say. `model`: the one that the
    notice is about, where it is about one. `other`: one to compare the text with, by a `second` model or the same, with `edits`
    or without. `word` is then what comes next in the text, `rather` what comes next in the other.
    """

    label: str
    text: str
    notice: str
    layer: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    weight: float = 0.0
    pair: str = ""
    other: str = ""
    target: str = ""
    word: str = ""
    rather: str = ""
    origin: str = ""
    question: str = ""
    answer: str = ""
    model: str = ""
    second: str = ""
    edits: str = ""

    @property
    def has_link(self) -> bool:
        return self.weight > 0


@cache
def examples(page: str) -> tuple[Example, ...]:
    """Read the examples of a page, in the order of the file."""
    table = tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))
    return tuple(Example(**entry) for entry in table[page])


_HELP = "Enter runs it, Shift+Enter makes a new line."


@dataclass(frozen=True)
class TextBox:
    """A text that is typed and run.

    name         of its parameter in the address
    placeholder  what stands in it while it is empty
    first        what is run on a first visit
    key          of what is typed, in the session; empty: it follows from the name
    """

    name: str
    label: str
    placeholder: str
    first: str = ""
    one_line: bool = False
    help: str | None = None
    key: str = ""

    @property
    def typed_key(self) -> str:
        return self.key or f"typed_{self.name}"


def text_box(label: str = "Your text", placeholder: str = "Type a sentence", first: str = "") -> TextBox:
    """Return the first box of most pages."""
    return TextBox("text", label, placeholder, first, key="typed")


def run_texts(boxes: Sequence[TextBox], forget: Callable[[], None] = lambda: None) -> dict[str, str]:
    """Draws boxes and Run; what was run last, now, in this visit or in the address, by the boxes' names.

    `forget` lets go of what belonged to the texts before.
    """
    texts = {box.name: remembered(box.name, box.first) for box in boxes}
    if (typed := _draw_boxes(boxes, texts)) and typed != texts:
        forget()
        texts = typed
    for box in boxes:
        remember(box.name, texts[box.name], box.first)
    return texts


def long_notice(**texts: str) -> None:
    """Says that a text is not part of the link; of several the first one that is not."""
    # Its place is always there, or Streamlit would draw what follows into the part that stood there before, and squeeze it.
    place = st.empty()
    if names := [name.replace("_", " ") for name, text in texts.items() if len(text) > LINK_CHARACTERS]:
        place.caption(f"This {names[0]} is longer than {LINK_CHARACTERS:,} characters, so the page's address does not hold it.")


def unrun_notice() -> None:
    """Says quietly that what is typed is not what is shown; the chip and the frame of the picture say it, too (layout.css)."""
    # Always there, as that of `long_notice`.
    place = st.empty()
    if st.session_state.unrun:
        place.container(key="unrun", width="content").caption(":material/edit: Not run yet", width="content")


def keep_typed(key: str) -> None:
    """Keeps what was typed until it is run; for a callback."""
    _drafts()[key] = st.session_state.get(key, "")


def forget_typed(*keys: str) -> None:
    """Lets go of what was typed and not run, of all boxes unless some are named: it was run, or another text was chosen."""
    drafts = _drafts()
    for key in keys or tuple(drafts):
        drafts.pop(key, None)


def _draw_boxes(boxes: Sequence[TextBox], run: dict[str, str]) -> dict[str, str] | None:
    """Draws boxes and Run. `run` is what was run last; what is typed when it is run now, else None."""
    state = st.session_state
    with st.container(key="prompt", horizontal=True, vertical_alignment="top" if not boxes[0].one_line else "bottom"):
        with st.container():
            for box in boxes:
                _draw_box(box, run[box.name])
        if st.button("Run", key="run-prompt", type="primary", help=_HELP):
            forget_typed(*(box.typed_key for box in boxes))
            state.unrun = False
            return {box.name: state[box.typed_key] for box in boxes}
    state.unrun = any(state[box.typed_key] != run[box.name] for box in boxes)
    return None


def _draw_box(box: TextBox, run: str) -> None:
    state, drafts, key = st.session_state, _drafts(), box.typed_key
    if key not in state:
        state[key] = drafts.get(key, run)
    elif key not in drafts and state[key] != run:
        # Another text was chosen.
        state[key] = run
    draw = st.text_input if box.one_line else st.text_area
    more: dict[str, Any] = {} if box.one_line else {"height": "content", "label_visibility": "collapsed"}
    draw(box.label, key=key, placeholder=box.placeholder, help=box.help, on_change=keep_typed, args=(key,), **more)


def _drafts() -> dict[str, str]:
    """Return what was typed on this page and not run, by box."""
    return st.session_state.setdefault("drafts", {}).setdefault(st.session_state.page, {})


def show_text_notices(*results: Result, also: Callable[[Result], Iterable[tuple[str, str, str]]] = lambda _: ()) -> None:
    """Say what happened to the text before the models read it, and what a page says besides, as one notice.

    also  what the page says of each result, as `text_notices` does
    """
    spoken = ((each.card.name, (*_own_notices(each), *also(each))) for each in results)
    sentences = dict.fromkeys(map(escaped, join_notices(spoken)))
    # Always there, as that of `long_notice`.
    place = st.empty()
    if sentences:
        is_cut = any(each.trace.cut is not None or each.trace.cut_pair is not None for each in results)
        icon = ":material/content_cut:" if is_cut else ":material/info:"
        (place.warning if is_cut else place.info)("  \n".join(sentences), icon=icon)


def _own_notices(result: Result) -> Iterator[tuple[str, str, str]]:
    card = result.card
    return text_notices(result.trace, languages=card.languages, most=card.max_tokens, reads=card.reads)


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
            state[switch] = bool(run) or box.typed_key in _drafts()
        if state[switch]:
            boxes.append(box)
        else:
            remember(box.name, "", box.first)
    texts = run_texts(boxes, forget)
    text, pair = texts["text"], texts.get("pair", "")
    example = _chips(page, (text, pair), further, forget, beside)
    long_notice(text=text, second_text=pair)
    prompt = checked(lambda: Prompt(text, pair=pair or None), text, pair)
    return prompt, example if prompt else None


def show_notice(example: Example | None, result: Result) -> None:
    """Say what to notice about an example, where that is true.

    It is not of another model than the one that it is about, nor where this one was edited or read the text in a chat; and not
    of a translation without the word that it is about.
    """
    if example is None or example.word not in result.trace.output:
        return
    trace = result.trace
    if not example.model or (example.model == result.card.name and example.text == trace.prompt.text and not trace.edits):
        st.caption(f":material/lightbulb: {example.notice}")


def sentence_box(first: str) -> Prompt | None:
    """Draw a box for one text and Run, and nothing else; `first` is what is run on a first visit. Returns what was run last.

    None after the page has said what is wrong with what was typed.
    """
    text = run_texts([text_box(first=first)], forget_cell)["text"]
    unrun_notice()
    long_notice(text=text)
    return checked(lambda: Prompt(text), text)


def question_box(*, forget: Callable[[], None]) -> tuple[Prompt | None, Example | None]:
    """Draw the same as `prompt_box` for a question and the passage that it is about."""
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
    long_notice(passage=passage, question=question)
    if not passage.strip() or not question.strip():
        missing = "passage to look in yet: paste one" if not passage.strip() else "question yet: type one about the passage"
        st.error(f"There is no {missing}.", icon=":material/edit:")
        return None, None
    return checked(lambda: Prompt(passage, question=question), passage, question), example


def example_pills(choices: Sequence[Example], current: Example | None, choose: Callable[[Example], None]) -> None:
    """Offer the examples as chips; the one that was run is marked."""
    st.session_state.example = current.label if current else None

    def chosen() -> None:
        example = next((each for each in choices if each.label == st.session_state.example), current)
        if example is not None:
            choose(example)

    st.pills("Examples", [each.label for each in choices], key="example", on_change=chosen, label_visibility="collapsed")


def _chips(
    page: str,
    run: tuple[str, str],
    further: Sequence[TextBox],
    forget: Callable[[], None],
    beside: Callable[[str, Example | None], None],
) -> Example | None:
    """Offer the examples, the one that was run marked; and the switches of the boxes that the page has besides."""
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
    """Offer the way to What if, with the same text twice, to change a word of the second; of an example, with it changed."""
    address = {"model": st.session_state.get("model"), "text": text, "other": (example and example.other) or text}
    help_ = "Opens What if: change a word, and see which heads look elsewhere."
    visit_button("Compare", "whatif", address, key="to-compare", icon="compare_arrows", help=help_, type="tertiary")


def _switch(box: TextBox) -> str:
    return f"with_{box.name}"


def example_address(example: Example) -> dict[str, str]:
    """Return the query parameters of a page that shows an example."""
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
