"""Above the picture: what is edited and how to go back, and which map is in view; below it edits by buttons, for keyboards."""

from collections.abc import Iterable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.wording import head_name
from attnviz.core.edits import Edit, LinkCut, WeightSet
from attnviz.ui.address.widgets import segments, toggle
from attnviz.ui.edit.current_map import CurrentMap
from attnviz.ui.edit.edits_in_address import Editor, edits_now, flip, restore, undo
from attnviz.ui.edit.output import show_chips
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.explorer import ShownHead, places_of

HELP = (
    "Click a head to switch it off, a layer's number for all of it, a cell to cut its link, a word above it to hide that. "
    "Keys: Delete, H."
)


def edit_toggle(place: DeltaGenerator, slots: Iterable[int | str]) -> None:
    """The switch of the Edit mode, where the explorer is folded away; with it, its grids of all heads open."""

    def turned() -> None:
        if st.session_state.get("editing"):
            st.session_state.update({f"all{slot}": True for slot in slots})

    toggle(
        place,
        "Edit",
        "editing",
        on_change=turned,
        help="Switch heads off, cut links, hide words, and see what the model says then.",
    )


def show_edit_panel(current: CurrentMap, *, compares: bool = True) -> None:
    """The edits as chips with the way back, and which map is in view; nothing where nothing is edited, or to be.

    `compares`: whether a person chooses between the maps before and after here, which stands once on a page.
    """
    editing = current.editing
    if editing is None or not (editing.edits or editing.on):
        return
    slot, edits = editing.slot, editing.edits
    with st.container(horizontal=True, vertical_alignment="center", key=f"desk-edits{slot}"):
        with st.container():
            if editing.on:
                st.caption(HELP)
            if edits:
                show_chips(editing, current.result.unedited.trace)
                if not editing.applied:
                    st.caption(":material/block: None of these edits can be made here: the model is shown as it is.")
        st.button("Undo", key=f"undo-edit{slot}", icon=":material/undo:", on_click=undo, args=(slot,))
        st.button("Restore all", key=f"restore-edits{slot}", icon=":material/restart_alt:", on_click=restore, args=(slot,),
                  disabled=not edits)  # fmt: skip
        if editing.applied and edits and compares:
            options = ("After", "Before", "Difference") if current.alike else ("After", "Before")
            place = st.container(width="content")
            segments(place, "Map in view", "edit_view", options=options, label_visibility="collapsed")


def show_edit_buttons(editing: Editor | None, shown: ShownHead) -> None:
    """In the Edit mode, what clicks in the picture of a map do, as buttons for its head and the chosen cell of its matrix.

    The weight of the cell can be typed, too.
    """
    if editing is None or not editing.on:
        return
    slot, now = editing.slot, set(edits_now(editing.slot).each)
    head, matrix, (row, column) = shown.head, shown.matrix, shown.cell
    places = places_of(shown.attention, head.view)
    asking, asked = (f"“{escaped(token.text)}”" for token in (matrix.queries[row], matrix.keys[column]))
    place = {"layer": head.layer, "head": head.head}
    cell = {"query": places.row_of(matrix.rows[row]), "key": places.column_of(matrix.columns[column])}
    heads, links, words = (places.edits_of(click) for click in (place, place | cell, {"key": cell["key"]}))

    def press(label: str, key: str, edits: tuple[Edit, ...]) -> None:
        st.button(label, key=f"edit-{key}{slot}", on_click=lambda: flip(*edits, slot=slot))

    with st.container(horizontal=True, vertical_alignment="bottom", key=f"desk-edit-buttons{slot}"):
        press(f"Switch {head_name(head.layer, head.head)} {'on' if now.issuperset(heads) else 'off'}", "head", heads)
        press(f"{'Restore' if now.issuperset(links) else 'Cut'} {asking} → {asked}", "link", links)
        press(f"{'Show' if now.issuperset(words) else 'Hide'} {asked}", "word", words)
        if len(links) == 1 and isinstance(link := links[0], LinkCut):
            _weight_box(slot, link, f"Weight of {asking} → {asked}", float(matrix.weights[row, column]))


def _weight_box(slot: str, link: LinkCut, label: str, weight: float) -> None:
    """Where a weight is typed; the rest of its row shares what is left. It says what was typed, else the weight in view."""
    place = (link.kind, link.layer, link.head, link.query, link.key)
    typed_weights = [edit for edit in edits_now(slot).each if isinstance(edit, WeightSet)]
    stands = next((edit.weight for edit in typed_weights if edit == WeightSet(*place, edit.weight)), min(round(weight, 4), 1.0))
    # A new key per cell and weight resets the widget.
    name = f"edit-weight{slot}-{'-'.join(map(str, place))}-{stands:.4f}"

    def typed() -> None:
        given = st.session_state[name]
        st.session_state[name] = stands
        if given is not None and not 0 <= given <= 1:
            st.session_state[f"refused_edit{slot}"] = f"A weight is a number from 0 to 1, not {given:g}."
        elif given is not None and given != stands:
            flip(WeightSet(*place, float(given)), slot=slot)

    # Without bounds: beyond them a browser draws the box red, and says nothing.
    st.number_input(label, None, None, stands, 0.05, format="%.3f", key=name, on_change=typed, width=240)


def comparing_editor(editors: Sequence[Editor]) -> Editor | None:
    """Which of several models' panels has the choice between before and after: the first that is edited."""
    return next((each for each in editors if each.edits and each.applied), None)
