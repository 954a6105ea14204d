"""Boxes to type in. What was typed and not run is kept, page by page, until it is run or another text is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

_HELP = "Enter runs it, Shift+Enter makes a new line."


@dataclass(frozen=True)
class Box:
    """A box: its name in the session, what it is called, what stands in it while it is empty, and whether it has one line."""

    key: str
    label: str
    placeholder: str
    one_line: bool = False
    help: str | None = None


def run_boxes(boxes: Sequence[Box], run: dict[str, str], name: str = "prompt") -> dict[str, str] | None:
    """Draws boxes and Run. `run` is what was run last; what is typed when it is run now, else None."""
    with st.container(key=name, horizontal=True, vertical_alignment="top" if not boxes[0].one_line else "bottom"):
        with st.container():
            for box in boxes:
                _draw(box, run[box.key])
        if st.button("Run", key=f"run-{name}", type="primary", help=_HELP):
            forget_typed(*run)
            run = {box.key: st.session_state[box.key] for box in boxes}
            st.session_state.unrun = False
            return run
    st.session_state.unrun = any(st.session_state[box.key] != run[box.key] for box in boxes)
    return None


def _draw(box: Box, run: str) -> None:
    state, drafts = st.session_state, _drafts()
    if box.key not in state:
        state[box.key] = drafts.get(box.key, run)
    elif box.key not in drafts and state[box.key] != run:
        # Another text was chosen.
        state[box.key] = run
    draw = st.text_input if box.one_line else st.text_area
    more: dict[str, Any] = {} if box.one_line else {"height": "content", "label_visibility": "collapsed"}
    draw(box.label, key=box.key, placeholder=box.placeholder, help=box.help, on_change=keep_typed, args=(box.key,), **more)


def _drafts() -> dict[str, str]:
    """What was typed on this page and not run, by box."""
    return st.session_state.setdefault("drafts", {}).setdefault(st.session_state.page, {})


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


def tell_unrun() -> None:
    """Says quietly that what is typed is not what is shown."""
    if st.session_state.unrun:
        st.caption(":material/edit: Not run yet", width="content")
