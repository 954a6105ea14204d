"""The translations and alignments on the page, one model large, and what a click in them does."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.head_ranking import strongest_places
from attnviz.analysis.head_view import HeadMatrix
from attnviz.analysis.token_words import word_groups
from attnviz.analysis.translate.alignment import ranked_step
from attnviz.analysis.translate.differences import differences
from attnviz.analysis.wording import NUMBERS, head_place, head_title
from attnviz.figures.edit.before_after import changed_text, number
from attnviz.figures.translate.alignments import STYLE, Aligned, WrittenToken, alignments, script
from attnviz.figures.translate.sentence_pair import LEAST_WEIGHT
from attnviz.models.result import Result
from attnviz.models.translate.draft import Draft
from attnviz.ui.address.address_sync import forget, forget_cell
from attnviz.ui.address.chosen_cell import select_cell
from attnviz.ui.address.widgets import one_shown, sent
from attnviz.ui.address.words import is_pinned, unpin
from attnviz.ui.edit.current_map import CurrentMap
from attnviz.ui.edit.edits_in_address import Editor
from attnviz.ui.edit.output import show_changes
from attnviz.ui.edit.panel import show_edit_panel
from attnviz.ui.explorer import ShownHead, note_picture, places_of
from attnviz.ui.head_picker import change_head, head_title_of
from attnviz.ui.layout import theme
from attnviz.ui.translate.alignment_view import AlignmentView, chosen_cell

_ALIGNMENTS = component("attnviz.alignments", html='<div class="alignment"></div>', css=STYLE, js=script())
_KEY, _SEQ = "alignments", "alignments_seq"


def show_alignments(results: Mapping[int, Result], view: AlignmentView, large: int) -> None:
    """Every translation in a table, and its alignment: the one at slot `large` as the large picture.

    Raises:
        TraceError: the view leaves no token.
    """
    shown, result = view.of(results[large]), results[large]
    matrix, cell = view.alignment(result), chosen_cell(result, view, large)
    picture = ShownHead(view.attention(result), shown, matrix, cell)
    note_picture(picture, slot=str(large), first_row=view.first_row(result))
    unlike = differences([each.trace.output for each in results.values()])
    models = [_aligned(slot, each, view, marked) for (slot, each), marked in zip(results.items(), unlike, strict=True)]
    is_open = one_shown("alternatives", ("", "open"), "") == "open"
    settings = {"seq": st.session_state.get(_SEQ, 0), "hero": large, "open": is_open, "least": LEAST_WEIGHT}
    cells = {each.slot: each.cell for each in models}
    settings["ranked"] = {slot: ranked for slot, each in results.items() if (ranked := _ranked(each, view, cells[slot]))}
    settings["isPinned"] = is_pinned()
    name, package = alignments(models, **settings, theme=theme().name, fullScale=view.full_scale)
    # Streamlit keeps the callback of every figure that a visit has seen: it holds names, and no trace.
    pieces = {slot: each.draft.pieces for slot, each in results.items()}
    offered = {slot: [[name for name, _ in step.alternatives] for step in each.draft.steps] for slot, each in results.items()}
    first_rows = {slot: view.first_row(each) for slot, each in results.items()}

    def pick() -> None:
        change = sent(_KEY, "picked") or {}
        st.session_state[_SEQ] = change.get("seq", 0)
        # A click on the picture before this one means nothing here.
        if change.get("of") == name:
            slot = change["hero"]
            _take(change, first_rows[slot])
            if "steer" in change:
                step, place = change["steer"]
                st.session_state[f"begins{slot}"] = " ".join((*pieces[slot][:step], offered[slot][step][place]))
                st.session_state[f"candidate{slot}"] = 0
                forget_cell()

    _ALIGNMENTS(key=_KEY, data=package, on_picked_change=pick)


def _take(change: dict[str, Any], first_row: int) -> None:
    """Makes what was clicked what is looked at: the large model, its word or its link, whether its choices are open."""
    slot = change["hero"]
    st.session_state.update(hero=slot, alternatives="open" if change.get("open") else "")
    if "query" in change:
        select_cell(change["query"] + first_row, change["key"], slot)
        if not change.get("isLink", True):
            forget(f"key{slot}")
    if "layer" in change:
        change_head(change["layer"], change["head"])
    if change.get("unpin"):
        unpin()


def _aligned(slot: int, result: Result, view: AlignmentView, unlike: tuple[tuple[int, int], ...]) -> Aligned:
    matrix, card, own = view.alignment(result), result.card, view.of(result)
    given = "target given" if result.prompt.target else ""
    mixed = result.quantity == "mixing"
    head = head_title("mixing", own.layer, None) if mixed else head_title_of(card, own.layer, own.head)
    unit = NUMBERS[result.quantity]
    places = places_of(view.attention(result), view.view).within(matrix)
    marks = places.head_marks(result.trace.edits, own.layer, own.head)
    return Aligned(
        slot=slot,
        name=card.name,
        head=" · ".join(filter(None, (head, "" if result.quantity == "weights" else unit, given))),
        translation=result.trace.output,
        matrix=matrix,
        number=unit,
        marks=marks,
        choices=row_choices(result, view, matrix),
        cell=chosen_cell(result, view, slot),
        unlike=unlike,
        links=view.links(matrix),
        place=(own.layer, own.head),
        shape=(result.trace.cross.n_layers, result.trace.cross.n_heads),
        where=_where(result, own),
    )


def _where(result: Result, view: AlignmentView) -> str:
    """Where the head that is drawn stands, in words."""
    attention, place = result.trace.cross, (view.layer, view.head)
    if result.quantity == "mixing":
        return f"all heads of layer {view.layer} together"
    return head_place(*place, attention.n_layers * attention.n_heads, trained=place == result.card.supervised_head)


def _ranked(result: Result, view: AlignmentView, cell: tuple[int, int]) -> dict[str, object] | None:
    """The heads that give most to a link, and the mean over all; None where there is but one, or all are mixed."""
    attention = result.trace.cross
    if attention.n_layers * attention.n_heads == 1 or result.quantity == "mixing":
        return None
    first_row = view.first_row(result)
    position = view.alignment(result).rows[cell[0]] + first_row
    weights = view.given_weights(result, position)[..., cell[1]]
    listed = [{"layer": at[0], "head": at[1], "weight": float(weights[at])} for at in strongest_places(weights)]
    drawn = "naive" if first_row else "shifted"
    step = ranked_step(position, len(attention.queries), view.step, drawn) if result.draft.reads_its_rows else ""
    return {"cell": cell, "mean": float(weights.mean()), "first": listed, "step": step}


def row_choices(result: Result, view: AlignmentView, matrix: HeadMatrix) -> tuple[tuple[WrittenToken, ...], ...]:
    """What was chosen at each row of the matrix: the tokens that were written for its word.

    A token that has no row of its own, such as the end mark where rows are named after what is read, stands with the last.
    """
    draft, attention = result.draft, view.attention(result)
    # Those that a person has chosen.
    fixed = 0 if result.prompt.target else len(result.options.begins)
    groups = word_groups(attention.queries) if view.view.words else [[place] for place in range(len(attention.queries))]
    row_of = {place: matrix.rows.index(group[0]) for group in groups if group[0] in matrix.rows for place in group}
    # Rows that are named after what is read stand one below those that wrote it.
    below = int(draft.reads_its_rows and view.of(result).reading == "shifted")
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


def show_translation_edits(result: Result, editing: Editor) -> None:
    """What is edited and the way back, and what the model writes before and after."""
    show_edit_panel(CurrentMap(result, "cross", editing))
    if result.before and result.draft.original is not None:
        before = result.before.draft
        rows = [
            changed_text("Translation", before.trace.output, result.trace.output),
            number("log p of it", before.log_probability, result.draft.log_probability, ".2f"),
            number("log p of the one before", before.log_probability, result.draft.original, ".2f"),
        ]
        show_changes(rows, slot=editing.slot)
