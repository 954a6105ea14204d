"""The translations and alignments on the page, one model large, and what a click in them does."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.translate.differences import differences
from attnviz.analysis.view import HeadMatrix, word_groups
from attnviz.figures.translate.alignments import STYLE, Aligned, WrittenToken, alignments, script
from attnviz.figures.translate.sentence_pair import LEAST_WEIGHT
from attnviz.models.translate.decode import Draft
from attnviz.ui.address.state import forget_cell
from attnviz.ui.address.widgets import one_shown, sent
from attnviz.ui.background.results import Drafted
from attnviz.ui.explorer import places_of, select_cell
from attnviz.ui.head_picker import named
from attnviz.ui.layout import theme
from attnviz.ui.quantity import number_of
from attnviz.ui.translate.drawing import Drawing, chosen_cell

_ALIGNMENTS = component("attnviz.alignments", html='<div class="alignment"></div>', css=STYLE, js=script())
_KEY, _SEQ = "alignments", "alignments_seq"


def large_slot(slots: list[int]) -> int:
    """The slot of the model whose alignment is drawn large; the first, where the one that was chosen is not there."""
    return one_shown("hero", slots, slots[0])


def show_alignments(shown: Mapping[int, Drafted], drawn: Drawing, large: int, fixed: Mapping[int, int]) -> None:
    """Every translation in a table, and its alignment: the one at slot `large` as the large picture.

    `fixed`: how many tokens of each translation a person has chosen.

    Raises:
        TraceError: the view leaves no token.
    """
    unlike = differences([each.trace.output for each in shown.values()])
    models = [_aligned(slot, shown[slot], drawn, fixed[slot], marked) for slot, marked in zip(shown, unlike, strict=True)]
    is_open = one_shown("alternatives", ("", "open"), "") == "open"
    settings = {"seq": st.session_state.get(_SEQ, 0), "hero": large, "open": is_open, "least": LEAST_WEIGHT}
    name, package = alignments(models, **settings, theme=theme().name, fullScale=drawn.full_scale)
    # Streamlit keeps the callback of every figure that a visit has seen: it holds names, and no trace.
    pieces = {slot: each.draft.pieces for slot, each in shown.items()}
    offered = {slot: [[name for name, _ in step.alternatives] for step in each.draft.steps] for slot, each in shown.items()}

    def pick() -> None:
        change = sent(_KEY, "picked") or {}
        st.session_state[_SEQ] = change.get("seq", 0)
        # A click on the picture before this one means nothing here.
        if change.get("of") == name:
            slot = change["hero"]
            _take(change)
            if "steer" in change:
                step, place = change["steer"]
                st.session_state[f"begins{slot}"] = " ".join((*pieces[slot][:step], offered[slot][step][place]))
                st.session_state[f"candidate{slot}"] = 0
                forget_cell()

    _ALIGNMENTS(key=_KEY, data=package, on_picked_change=pick)


def _take(change: dict[str, Any]) -> None:
    """Makes what was clicked what is looked at: the large model, its chosen cell, whether its choices are open."""
    st.session_state.update(hero=change["hero"], alternatives="open" if change.get("open") else "")
    if "query" in change:
        select_cell(change["query"], change["key"], change["hero"])


def _aligned(slot: int, drafted: Drafted, drawn: Drawing, fixed: int, unlike: tuple[tuple[int, int], ...]) -> Aligned:
    matrix, draft, card = drawn.matrix(drafted), drafted.draft, drafted.card
    given = "target given" if draft.trace.prompt.target else ""
    (layer, number), by = drawn.head_of(drafted), drafted.weighed
    head = by.named(layer, number) if by and by.by == "mixing" else named(card, layer, number)
    unit = number_of(drafted)
    places = places_of(drawn.attention(drafted), drawn.view).within(matrix)
    marks = places.head_marks(drafted.trace.edits, layer, number)
    return Aligned(
        slot=slot,
        name=card.name,
        head=" · ".join(filter(None, (head, unit if by else "", given))),
        translation=draft.trace.output,
        log_probability=draft.log_probability,
        bleu=card.metrics.get("BLEU"),
        matrix=matrix,
        number=unit,
        marks=marks,
        choices=row_choices(drafted, drawn, matrix, fixed),
        cell=chosen_cell(matrix, slot, drawn.word),
        unlike=unlike,
        links=drawn.links(matrix),
    )


def row_choices(drafted: Drafted, drawn: Drawing, matrix: HeadMatrix, fixed: int) -> tuple[tuple[WrittenToken, ...], ...]:
    """What was chosen at each row of the matrix: the tokens that were written for its word.

    A token that has no row of its own, such as the end mark where rows are named after what is read, stands with the last.
    """
    draft, attention = drafted.draft, drawn.attention(drafted)
    groups = word_groups(attention.queries) if drawn.view.words else [[place] for place in range(len(attention.queries))]
    row_of = {place: matrix.rows.index(group[0]) for group in groups if group[0] in matrix.rows for place in group}
    # Rows that are named after what is read stand one below those that wrote it.
    below = int(draft.reads_its_rows and drawn.reading_of(drafted) == "shifted")
    choices: list[list[WrittenToken]] = [[] for _ in matrix.rows]
    row = 0
    for step, each in enumerate(draft.steps):
        row = row_of.get(step + below, row)
        can = tuple(_is_open(draft, name) for name, _ in each.alternatives)
        choices[row].append(WrittenToken(step, each.token, each.probability, each.alternatives, can, step < fixed))
    return tuple(map(tuple, choices))


def _is_open(draft: Draft, name: str) -> bool:
    """Whether the model can go on from a piece; a target that a person has given is changed by typing."""
    return bool(draft.pieces) and name not in draft.closed
