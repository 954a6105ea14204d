"""The edits of a page: kept in its address, taken back one by one or all at once, and dropped where they no longer fit.

The address has them in the order in which they were made, so that the latest can be taken back after a reload, too. A page that
shows several models has edits for each, which end in the model's number (`slot`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

from attnviz.analysis.head_view import HeadView, difference
from attnviz.analysis.wording import Part, Sentence, counted, describe_edits, describe_refusal, head_name, toggled
from attnviz.core.edits import NO_EDITS, Edit, Edits
from attnviz.core.errors import EditError, TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind, Prompt
from attnviz.models.base import GREEDY, DecodingOptions
from attnviz.models.catalog import Task
from attnviz.models.result import Options, Result
from attnviz.ui.address.address_sync import pop_state, publish, value
from attnviz.ui.background.results import run
from attnviz.ui.layout import escaped

_ICON = ":material/content_cut:"


@dataclass(frozen=True)
class Editor:
    """What is edited in a model, and whether a click in its pictures edits more.

    compared  "After", "Before" or "Difference": which map is in view
    applied   whether the picture is that of the edited model: not, where the model could not be edited in this way
    """

    slot: str
    edits: Edits
    on: bool
    compared: str
    applied: bool = True


def editor(slot: str, model: str, prompt: Prompt) -> Editor:
    """Reads the edits of the model of that name over the prompt; those that were made for another go, and the page says so."""
    _keep_what_fits(slot, model, prompt)
    name = f"edits{slot}"
    written = value(name, "")
    publish(name, written, "")
    if refused := pop_state(f"refused_edit{slot}"):
        st.toast(escaped(refused), icon=_ICON, duration="long")
    edits = _parsed(slot, written)
    on, compared = bool(value("editing", False)), value("edit_view", "After")
    publish("editing", on, False)
    publish("edit_view", compared, "After")
    return Editor(slot, edits, on, compared)


def _parsed(slot: str, written: str) -> Edits:
    """Read edits; where that fails, return none, after the page has said why, and how to go on."""
    try:
        return Edits.parse(written)
    except EditError as error:
        show_refused(error, slot)
        return NO_EDITS


def show_refused(error: EditError, slot: str) -> None:
    """Says why the edits of the address cannot be made, with the way back."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.error(escaped(error), icon=_ICON)
        st.button("Remove the edits", key=f"drop-edits{slot}", on_click=restore, args=(slot,))


def accept(slot: str) -> None:
    """Notes that the model has read the text with the edits that stand now: there is a picture of them."""
    pop_state(f"untried_edits{slot}")


def refuse(error: EditError, slot: str, trace: AttentionTrace) -> bool:
    """Takes a change back that the model could not make, and lets the next run say why.

    `trace`: of the text without edits. False where the edits came with the address, and nothing can be taken back.
    """
    state, before = st.session_state, st.session_state.get(f"edits_before{slot}", [])
    if (valid := pop_state(f"untried_edits{slot}")) is None:
        return False
    old = {edit for made in _changes(valid) for edit in made}
    new = Edits(tuple(edit for edit in edits_now(slot).each if edit not in old))
    what, reason = ", ".join(describe_edits(new, trace).values()), describe_refusal(error, trace)
    state[f"edits{slot}"], state[f"refused_edit{slot}"] = valid, f"Not done: {what}. {reason}" if what else reason
    while before and before.pop() != valid:
        pass
    return True


def edits_now(slot: str = "") -> Edits:
    """Return the edits that stand now; none where what stands there cannot be read."""
    try:
        return Edits.parse(value(f"edits{slot}", ""))
    except EditError:
        return NO_EDITS


def change(edits: Edits, slot: str = "") -> None:
    """Makes these the edits; for a callback. What they were can be had back (`undo`)."""
    state, written = st.session_state, value(f"edits{slot}", "")
    state.setdefault(f"edits_before{slot}", []).append(written)
    # Of two changes in one run neither has been tried.
    state.setdefault(f"untried_edits{slot}", written)
    stay = [tuple(edit for edit in made if edit in edits.each) for made in _changes(written)]
    new = tuple(edit for edit in edits.each if not any(edit in made for made in stay))
    state[f"edits{slot}"] = _in_order([*stay, new])
    if not edits:
        # With nothing to compare, the next edit begins with what it makes.
        state.edit_view = "After"


def _changes(written: str) -> list[tuple[Edit, ...]]:
    """Read changes, each the edits that were made at once; none where what is written cannot be read."""
    try:
        return [Edits.parse(part).each for part in written.split(",")]
    except EditError:
        return []


def _in_order(changes: Sequence[tuple[Edit, ...]]) -> str:
    """Write changes as `_changes` reads them."""
    return ",".join(";".join(Edits((edit,)).text for edit in made) for made in changes if made)


def flip(*more: Edit, slot: str = "") -> None:
    """Makes these edits, or takes them away where all are there; for a callback. What cannot be is said on the page."""
    try:
        change(Edits(toggled(edits_now(slot).each, more)), slot)
    except EditError as error:
        st.session_state[f"refused_edit{slot}"] = str(error)


def undo(slot: str = "") -> None:
    """Takes the last change back, and of edits that came with the address the latest; for a callback."""
    accept(slot)
    if before := st.session_state.get(f"edits_before{slot}"):
        st.session_state[f"edits{slot}"] = before.pop()
    else:
        st.session_state[f"edits{slot}"] = _in_order(_changes(value(f"edits{slot}", ""))[:-1])


def restore(slot: str = "") -> None:
    """Takes every edit away; for a callback."""
    if value(f"edits{slot}", ""):
        change(NO_EDITS, slot)


def _keep_what_fits(slot: str, model: str, prompt: Prompt) -> None:
    """Drops the edits of another model, and of another text those that name its tokens by their place."""
    name, now = f"edited_of{slot}", (model, prompt)
    before: tuple[Any, ...] = st.session_state.get(name, now)
    st.session_state[name] = now
    edits = edits_now(slot)
    if before == now or not edits:
        return
    kept = Edits(tuple(edit for edit in edits.each if before[0] == model and not Edits((edit,)).by_position))
    if kept == edits:
        return
    change(kept, slot)
    count = len(edits.each) - len(kept.each)
    st.session_state[f"edits_before{slot}"] = []
    accept(slot)
    which = "the model before" if before[0] != model else "words of the text before"
    message = f"{counted(count, 'edit')} of {which} {'was' if count == 1 else 'were'} dropped."
    st.toast(message, icon=_ICON, duration="long")


def run_edited(
    name: str, task: Task, prompt: Prompt, *, options: Options = GREEDY, slot: str = ""
) -> tuple[Result, Editor] | None:
    """Run a model over a prompt with the page's edits, and return result and edits; None after the page has said why not.

    A change that the model cannot make is taken back. Where edits of an address cannot be made the model stands as it is, after
    the page has said so.
    """
    if (before := run(name, task, prompt, options=options)) is None:
        return None
    editing = editor(slot, name, prompt)
    try:
        after = run(name, task, prompt, edits=editing.edits, options=options) if editing.edits else None
    except EditError as error:
        if refuse(error, slot, before.trace):
            st.rerun()
        show_refused(error, slot)
        return before, replace(editing, applied=False)
    if after or not editing.edits:
        accept(slot)
    return after or before, replace(editing, applied=after is not None)


def run_side_by_side(
    names: Sequence[str], task: Task, prompts: Sequence[Prompt], options: Mapping[int, DecodingOptions] | None = None
) -> tuple[dict[int, Result], dict[int, Editor]]:
    """Run several models so, by their slots, which count from 1; leave out those that make nothing of their prompts."""
    results, editors = {}, {}
    for slot, (name, prompt) in enumerate(zip(names, prompts, strict=True), start=1):
        how = options[slot] if options else GREEDY
        if ran := run_edited(name, task, prompt, options=how, slot=str(slot)):
            results[slot], editors[slot] = ran
    return results, editors


# Made once, for what is drawn of a map is kept as long as it is.
_DIFFERENCES: WeakKeyDictionary[AttentionMap, tuple[AttentionMap, AttentionMap]] = WeakKeyDictionary()


def current_result(result: Result, editing: Editor | None) -> Result:
    """Return the result that is in view: with the edits, or without."""
    return result.unedited if editing and editing.compared == "Before" else result


@dataclass(frozen=True)
class CurrentMap:
    """The map of one kind of a result, before and after its edits; `editing` None: nothing can be edited here."""

    result: Result
    kind: Kind
    editing: Editor | None

    @property
    def before(self) -> AttentionMap:
        return self.result.unedited.trace.map(self.kind)

    @property
    def after(self) -> AttentionMap:
        return self.result.trace.map(self.kind)

    @property
    def current(self) -> AttentionMap:
        """The map that sentences are made of."""
        return current_result(self.result, self.editing).trace.map(self.kind)

    @property
    def alike(self) -> bool:
        """Whether both are over the same tokens, so that they have a difference."""
        return (self.before.queries, self.before.keys) == (self.after.queries, self.after.keys)

    @cached_property
    def drawn(self) -> AttentionMap:
        """The map that is drawn."""
        if self.editing is None or self.editing.compared != "Difference" or not self.result.before or not self.alike:
            return self.current
        kept = _DIFFERENCES.get(self.after)
        if kept is None or kept[0] is not self.before:
            made = difference(self.before, self.after)
            assert made is not None
            kept = _DIFFERENCES[self.after] = self.before, made
        return kept[1]

    def drawn_as(self, head: HeadView) -> HeadView:
        """Return how the head is drawn: the rows of a difference sum to 0, and are not renormalized."""
        return head if self.drawn is self.current else replace(head, view=replace(head.view, renormalize=False))

    @property
    def first(self) -> AttentionMap:
        """The map whose strongest cell is looked at where none was chosen: an edit does not move what one looks at."""
        return self.before if self.alike else self.current

    def describe_edited(self, head: HeadView) -> tuple[Sentence, ...]:
        """Say of a head that it is off, or what changed in it, in place of where it looks; else nothing."""
        if off := self.describe_off(head):
            return off
        if head.head is None or self.drawn is self.current:
            return ()
        # Imported here: most of what is drawn is not edited.
        from attnviz.analysis.whatif_comparison import compare

        try:
            compared = compare(self.result.unedited.trace, self.result.trace, kind=self.kind)
            return (compared.sentence((head.layer, head.head)),)
        except TraceError:
            return ()

    def describe_off(self, head: HeadView) -> tuple[Sentence, ...]:
        """Say of a head, or of all of a layer, that it is switched off; of others nothing."""
        heads = range(self.current.n_heads) if head.head is None else (head.head,)
        if not self.result.before or any(self.current.weights(head.layer, each).any() for each in heads):
            return ()
        name = head_name(head.layer, head.head)
        return ((Part(name, True), Part(" is switched off: it adds nothing to any token.")),)
