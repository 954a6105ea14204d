"""Above the picture: what is edited and how to go back, which map is in view, and edits by buttons, for who has no pointer."""

from collections.abc import Callable

import streamlit as st

from attnviz.analysis.view import HeadMatrix
from attnviz.analysis.wording import head_name
from attnviz.core.edits import LinkCut, WeightSet, WordHidden
from attnviz.core.kinds import Kind
from attnviz.core.trace import AttentionTrace
from attnviz.ui.address.widgets import segments
from attnviz.ui.edits.said import show_chips
from attnviz.ui.edits.state import Editor, can_undo, edits_now, flip, flip_heads, restore, undo
from attnviz.ui.layout import escaped

HELP = (
    "Click a head to switch it off, a layer's number for all of it, a cell to cut its link, a word above it to hide that. "
    "Keys: Delete, H."
)


def show_panel(editing: Editor, trace: AttentionTrace, *, alike: bool = True) -> None:
    """The edits as chips with the way back, and which map is in view; nothing where nothing is edited, or to be.

    `alike`: whether the maps before and after are over the same tokens, so that there is a difference.
    """
    slot, edits = editing.slot, editing.edits
    if editing.on:
        st.caption(HELP)
    if not (edits or can_undo(slot)):
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"desk-edits{slot}"):
        with st.container():
            if edits:
                show_chips(editing, trace)
        st.button("Undo", key=f"undo-edit{slot}", icon=":material/undo:", on_click=undo, args=(slot,),
                  disabled=not can_undo(slot))  # fmt: skip
        st.button("Restore all", key=f"restore-edits{slot}", icon=":material/restart_alt:", on_click=restore, args=(slot,),
                  disabled=not edits)  # fmt: skip
        if edits:
            options = ("After", "Before", "Difference") if alike else ("After", "Before")
            place = st.container(width="content")
            segments(place, "Map in view", "compared", options=options, label_visibility="collapsed")


def show_buttons(editing: Editor, kind: Kind, place: tuple[int, int | None], matrix: HeadMatrix, cell: tuple[int, int]) -> None:
    """What clicks in the picture do, for the head and the cell that are looked at, as buttons; and the weight typed."""
    (layer, head), (query, key) = place, (matrix.rows[cell[0]], matrix.columns[cell[1]])
    slot, now = editing.slot, set(edits_now(editing.slot).each)
    asking, asked = (escaped(token.text) for token in (matrix.queries[cell[0]], matrix.keys[cell[1]]))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"desk-edit-buttons{slot}"):
        if head is None:
            st.caption("Choose one head to edit it; the mean of a layer is edited by clicks.")
            return
        is_off = any((edit.kind, edit.layer, getattr(edit, "head", None)) == (kind, layer, head) and not hasattr(edit, "key")
                     for edit in now)  # fmt: skip
        name = head_name(layer, head)
        _press(
            f"Switch {name} {'on' if is_off else 'off'}", f"edit-head{slot}", lambda: flip_heads(kind, (layer, head), slot=slot)
        )
        cut, hidden = LinkCut(kind, layer, head, query, key), WordHidden(kind, key)
        _press(f"{'Restore' if cut in now else 'Cut'} “{asking}” → “{asked}”", f"edit-link{slot}", lambda: flip(cut, slot=slot))
        _press(f"{'Show' if hidden in now else 'Hide'} “{asked}”", f"edit-word{slot}", lambda: flip(hidden, slot=slot))
        _weight_box(slot, (kind, layer, head, query, key), f"Weight of “{asking}” → “{asked}”", float(matrix.weights[cell]))


def _press(label: str, key: str, act: Callable[[], None]) -> None:
    st.button(label, key=key, on_click=act)


def _weight_box(slot: str, place: tuple[Kind, int, int, int, int], label: str, weight: float) -> None:
    """Where a weight is typed; the rest of its row shares what is left."""
    # Another cell, or another weight there, is another box.
    name = f"edit-weight{slot}-{'-'.join(map(str, place))}-{weight:.4f}"

    def typed() -> None:
        if (given := st.session_state[name]) is not None:
            now = tuple(edit for edit in edits_now(slot).each if isinstance(edit, WeightSet))
            same = WeightSet(*place, float(given))
            if same not in now:
                flip(same, slot=slot)

    st.number_input(label, 0.0, 1.0, round(weight, 4), 0.05, format="%.3f", key=name, on_change=typed, width=240)
