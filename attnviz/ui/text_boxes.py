"""Where text boxes become a prompt. What was typed and not run is kept, page by page, until it is run or another is chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from attnviz.core.errors import PromptError
from attnviz.core.trace import Prompt
from attnviz.ui.address.address_sync import LINK_CHARACTERS, remember, remembered
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.visitor_limits import check_length

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
    """The first box of most pages."""
    return TextBox("text", label, placeholder, first, key="typed")


def run_texts(boxes: Sequence[TextBox], forget: Callable[[], None] = lambda: None) -> dict[str, str]:
    """Draws boxes and Run; what was run last, now, in this visit or in the address, by the boxes' names.

    `forget` lets go of what belonged to the texts before.
    """
    texts = {box.name: remembered(box.name, box.first) for box in boxes}
    if typed := _draw_boxes(boxes, texts):
        forget()
        texts = typed
    for box in boxes:
        remember(box.name, texts[box.name], box.first)
    return texts


def checked_prompt(make: Callable[[], Prompt], *texts: str) -> Prompt | None:
    """The prompt of texts; None after the page has said what is wrong with them."""
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


def unrun_notice() -> None:
    """Says quietly that what is typed is not what is shown; the chip and the frame of the picture say it, too (layout.css)."""
    if st.session_state.unrun:
        with st.container(key="unrun", width="content"):
            st.caption(":material/edit: Not run yet", width="content")


def is_drafted(key: str) -> bool:
    """Whether a box holds what was typed and not run."""
    return key in _drafts()


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
    """What was typed on this page and not run, by box."""
    return st.session_state.setdefault("drafts", {}).setdefault(st.session_state.page, {})
