"""A translation before and after the edits of its model, and what of it changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.view import HeadMatrix
from attnviz.core.trace import Prompt
from attnviz.figures.edit.before_after import changed_text, number
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.background.results import Drafted, translate
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.output import show_said
from attnviz.ui.edit.panel import edit_toggle, show_buttons, show_panel
from attnviz.ui.edit.results import Redrafted, retranslate
from attnviz.ui.edit.state import Editor, editor
from attnviz.ui.explorer import places_of
from attnviz.ui.quantity import numbers_picker, weigh_draft
from attnviz.ui.translate.drawing import Drawing


@dataclass(frozen=True)
class EditedDraft:
    """What a model writes without edits and with them; `after` None: nothing is edited."""

    before: Drafted
    after: Redrafted | None
    editing: Editor

    @property
    def shown(self) -> Drafted:
        """The one that is in view."""
        return self.before if self.after is None or self.editing.compared == "Before" else self.after

    @property
    def maps(self) -> Shown:
        """The attention across, before and after."""
        return Shown.of(self.before.trace, (self.after or self.before).trace, "cross", self.editing)

    def panel(self) -> None:
        """What is edited and the way back, and what the model writes before and after."""
        show_panel(self.editing, self.before.trace, alike=self.maps.alike)
        if self.after is not None:
            before, after = self.before, self.after
            rows = [
                changed_text("Translation", before.trace.output, after.trace.output),
                number("log p of it", before.draft.log_probability, after.draft.log_probability, ".2f"),
                number("log p of the one before", before.draft.log_probability, after.original, ".2f"),
            ]
            show_said(rows, slot=self.editing.slot)

    def turn(self) -> None:
        """The switch of the Edit mode."""
        edit_toggle(st.container(width="content"), (self.editing.slot,))

    def buttons(self, drawn: Drawing, chosen: tuple[HeadMatrix, tuple[int, int]]) -> None:
        """What can be edited at the chosen cell of the large picture, in the Edit mode."""
        if self.editing.on:
            places = places_of(drawn.attention(self.shown), drawn.view)
            show_buttons(self.editing, places, drawn.head_of(self.shown), chosen)


def edited_draft(slot: int, name: str, prompt: Prompt, options: DecodingOptions) -> EditedDraft | None:
    """What the model of that name writes; None after the page has said why there is nothing."""
    if (before := translate(name, prompt, options)) is None:
        return None
    editing = editor(str(slot), name, prompt)
    after = retranslate(name, prompt, options, before.draft, editing.edits) if editing.edits else None
    return EditedDraft(before, after, replace(editing, applied=after is not None))


def weighed_drafts(drafts: Mapping[int, EditedDraft], names: Sequence[str], sidebar: DeltaGenerator) -> dict[int, EditedDraft]:
    """The translations of all models with the numbers that are chosen in their maps; with weights, where one is edited."""
    by = numbers_picker(sidebar, known=all(each.after is None for each in drafts.values()))
    return {slot: replace(each, before=weigh_draft(names[slot - 1], each.before, by)) for slot, each in drafts.items()}
