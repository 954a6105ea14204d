"""Heads found by a pattern that somebody draws, on the page Heads: the board, and how like the drawing each head is."""

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.heads.pattern import PATTERNS, WORDS, Drawn, likeness, pattern_text, read_pattern
from attnviz.analysis.wording import Part, Sentence, head_name
from attnviz.figures import html as shared
from attnviz.figures.heads.grid import STYLE
from attnviz.figures.heads.pattern import board, likeness_grid
from attnviz.ui.address.state import publish, restore
from attnviz.ui.address.widgets import toggle
from attnviz.ui.heads.atlas import first_words_of
from attnviz.ui.heads.view import pick_head
from attnviz.ui.layout import story, theme
from attnviz.ui.markup import Markup

_board, _grid = Markup("board", shared.STYLE + STYLE), Markup("likeness", shared.STYLE + STYLE)
_FIRST = PATTERNS["Previous word"]
_USUAL = pattern_text(_FIRST)


def draws() -> bool:
    """Whether heads are looked for by a drawing."""
    return toggle(st.sidebar, "Find heads by a drawing", "drawing", help="Draw a pattern; every head says how like it is.")


def show_drawing(model: str, chosen: tuple[int, int], heading: DeltaGenerator) -> None:
    """The board, and how like what is drawn on it each head is; a click on a head chooses it."""
    pattern = _drawn_pattern()
    if (first := first_words_of(model)) is None:
        return
    alike = likeness(first.means, pattern)
    story(*_said(alike, pattern, first.sentences), place=heading)
    _grid("likeness", likeness_grid(alike, chosen=chosen, theme=theme()), pick_head)


def _drawn_pattern() -> Drawn:
    """What is drawn, with patterns to begin with beside it; a click on a cell draws it or takes it away."""
    restore("drawn", _USUAL)
    asked = read_pattern(st.session_state.drawn)
    pattern = _FIRST if asked is None else asked

    def pick(picked: str) -> None:
        kind, _, number = picked.partition(":")
        if kind == "cell" and number.isdecimal() and int(number) < WORDS**2:
            changed = pattern.copy()
            changed.flat[int(number)] ^= True
            st.session_state.drawn = pattern_text(changed)

    left, right = st.columns([2, 5], gap="large", vertical_alignment="center")
    with left:
        _board("board", board(pattern, theme=theme()), pick)
    with right:
        st.session_state.pattern = next((name for name, each in PATTERNS.items() if (each == pattern).all()), None)
        st.pills("Patterns to begin with", list(PATTERNS), key="pattern", on_change=_choose)
        st.caption(
            f":material/touch_app: Rows look at columns: the first {WORDS} words of a sentence. Click cells, or go from one to "
            "the next with the arrow keys and press Enter."
        )
    publish("drawn", pattern_text(pattern), _USUAL)
    return pattern


def _choose() -> None:
    if chosen := st.session_state.pattern:
        st.session_state.drawn = pattern_text(PATTERNS[chosen])


def _said(alike: Float[np.ndarray, "layer head"], pattern: Drawn, sentences: int) -> tuple[Sentence, Sentence]:
    """Say which head is most like the drawing, and what was compared."""
    about = (Part(f"Means over the first {WORDS} words of {sentences} sentences; 0 is a head that looks evenly."),)
    if pattern.all() or not pattern.any():
        return (Part("Draw where a word should look: some cells, not all."),), about
    layer, head = (int(place) for place in np.unravel_index(int(alike.argmax()), alike.shape))
    most = Part(f"{alike[layer, head]:.2f}", True)
    return (Part(head_name(layer, head), True), Part(" is most like this: a correlation of "), most, Part(".")), about
