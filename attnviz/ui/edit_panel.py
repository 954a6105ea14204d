"""The panel of edits, and what the model says before and after them."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.next_and_why import continuation_of, describe_next, next_changes
from attnviz.analysis.wording import describe_edits, head_name, quoted, written
from attnviz.core.edits import NO_EDITS, Edit, Edits, LinkCut, WeightSet
from attnviz.core.errors import ModelError
from attnviz.core.sampling import READING
from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.figures import html as shared
from attnviz.figures.before_after import (
    STYLE,
    OutputChange,
    before_and_after,
    changed_text,
    edit_chips,
    moved,
    number,
    ranked,
    share_bars,
)
from attnviz.models.base import NOTHING_READ, AttentionModel, EncoderReading, Progress, shifts
from attnviz.models.result import Result
from attnviz.ui.address.address_sync import segments, toggle
from attnviz.ui.background.results import computed
from attnviz.ui.edit import CurrentMap, Editor, change, edits_now, flip, restore, undo
from attnviz.ui.explorer import ShownHead, places_of
from attnviz.ui.layout import Markup, escaped, story, theme

_markup = Markup("edits", shared.STYLE + STYLE)


def show_chips(editing: Editor, trace: AttentionTrace) -> None:
    """Show the edits in words, named by the tokens of the trace; a press on one takes it away."""
    slot = editing.slot

    def take(picked: str) -> None:
        gone = set(Edits.parse(picked).each)
        change(Edits(tuple(edit for edit in edits_now(slot).each if edit not in gone)), slot)

    _markup(f"chips{slot}", edit_chips(describe_edits(editing.edits, trace), theme=theme()), take)


def show_changes(rows: Sequence[OutputChange], *, below: str = "", slot: str = "") -> None:
    """Show what a model says, as a table of before and after."""
    if rows or below:
        _markup(f"said{slot}", before_and_after(rows, theme=theme(), below=below))


def show_reading(result: Result) -> None:
    """Show what a model makes of a text on Encode: its text, or what its layers on top say, and how far its states moved."""
    edited = result.before
    if len(result.trace.maps) > 1:
        show_changes([changed_text("Output", edited.trace.output, result.trace.output)] if edited else [])
        return
    if result.file or (read := with_readings(result)) is None:
        return
    one, other = read.unedited.reading, read.reading
    rows = [
        ranked(place, shares, then[1] if edited else None)
        for (place, shares), then in zip(one.likeliest, other.likeliest, strict=True)
    ]
    if one.similarity is not None and other.similarity is not None:
        after = other.similarity if edited else None
        rows.append(number("Similarity of the two sentences, read together", one.similarity, after))
    show_changes(rows, below=moved(one.tokens, shifts(one, other), theme=theme()) if edited else "")


def show_next(results: tuple[Result, Result], names: tuple[str, str]) -> None:
    """Show what a language model says comes next on both sides, as bars; nothing of other models."""
    if any(each.card.architecture != "decoder" for each in results) or results[0].name != results[1].name:
        return
    one, other = (next_words(each.name, each.prompt, each.trace.edits) for each in results)
    if one and other:
        _markup("next-shares", share_bars(next_changes(one, other), names, theme=theme()))


def show_next_word(name: str, prompt: Prompt) -> None:
    """Say what a decoder expects behind a text; nothing where its file has no layer that says it."""
    if trace := next_words(name, prompt, NO_EDITS):
        candidates = continuation_of(trace).next_tokens(len(trace.maps[-1].queries) - 1)
        story(describe_next(candidates, prompt.text))


HELP = (
    "Click a head to switch it off, a layer's number for all of it, a cell to cut its link, a word above it to hide that. "
    "Keys: Delete, H."
)


def edit_toggle(place: DeltaGenerator, slots: Iterable[int | str]) -> None:
    """Draw the switch of the Edit mode, where the explorer is folded away; with it, its grids of all heads open."""

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
    """Show the edits as chips with the way back, and which map is in view; nothing where nothing is edited, or to be.

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


def show_edit_buttons(editing: Editor | None, picture: ShownHead) -> None:
    """Offer as buttons, in the Edit mode, what clicks in the picture of a map do, for its head and its chosen cell.

    The weight of the cell can be typed, too.
    """
    if editing is None or not editing.on:
        return
    slot, now = editing.slot, set(edits_now(editing.slot).each)
    head, matrix, (row, column) = picture.head, picture.matrix, picture.cell
    places = places_of(picture.attention, head.view)
    asking, asked = (escaped(written(quoted(token.text))) for token in (matrix.queries[row], matrix.keys[column]))
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
    """Draw the box where a weight is typed; the rest of its row shares what is left. It shows the typed or current one."""
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
    """Choose the panel that offers before and after: that of the first edited model."""
    return next((each for each in editors if each.edits and each.applied), None)


def with_readings(result: Result) -> Result | None:
    """Add what the model's layers on top say of the text; None after the page has said why that is not known."""
    edits = result.trace.edits
    reading = _read(result.name, result.prompt, edits, bool(edits))
    before = _read(result.name, result.prompt, NO_EDITS, bool(edits)) if reading and result.before else None
    if reading is None or (result.before and before is None):
        return None
    return replace(result, output=reading, before=result.before and replace(result.before, output=before))


@computed
def _read(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits, states: bool) -> EncoderReading:
    from attnviz.models.capabilities import capabilities
    from attnviz.models.tasks import read

    progress(f"Reading with {model.card.name}", None)
    # No pass where there is nothing to say.
    return read(model, prompt, edits) if states or capabilities(model).says_more(prompt) else NOTHING_READ


@computed
def next_words(model: AttentionModel, progress: Progress, prompt: Prompt, edits: Edits) -> AttentionTrace | None:
    """Trace what a language model says comes next, with the edits; None of one that names no next word."""
    from attnviz.models.tasks import write

    progress(f"Reading with {model.card.name}", None)
    with suppress(ModelError):
        return write(model, prompt, READING, edits)
    return None
