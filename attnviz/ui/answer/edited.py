"""An answer before and after the edits of its model, and what of it changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from streamlit.delta_generator import DeltaGenerator

from attnviz.core.arrays import Kind
from attnviz.core.trace import Prompt
from attnviz.figures.edit.before_after import Said, changed_text, number, ranked
from attnviz.ui.background.results import Answered, answer
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.output import show_said
from attnviz.ui.edit.state import Editor, editor
from attnviz.ui.quantity import numbers_picker, weigh_answer

_DECLINES = "The passage does not say."


@dataclass(frozen=True)
class EditedAnswer:
    """What a model answers without edits and with them; where nothing is edited both are one."""

    before: Answered
    after: Answered
    editing: Editor

    @property
    def shown(self) -> Answered:
        """The one that is in view."""
        return self.before if self.editing.compared == "Before" else self.after

    def maps(self, kind: Kind) -> Shown:
        """The map of that kind, before and after."""
        return Shown.of(self.before.trace, self.after.trace, kind, self.editing)

    def tell(self) -> None:
        """What the model says, before and after: its answer, whether it declines, and the likeliest spans."""
        if self.before is not self.after:
            show_said(self._said(), slot=self.editing.slot)

    def _said(self) -> list[Said]:
        both = self.before.answers, self.after.answers
        texts = [_DECLINES if each.declined else each.trace.output for each in both]
        lists = [[(each.text(span), span.probability) for span in each.result.spans[:3]] for each in both]
        nothing = number("p of no answer", both[0].result.nothing, both[1].result.nothing)
        return [changed_text("Answer", *texts), ranked("Likeliest spans, p", *lists), nothing]


def edited_answer(slot: int, name: str, prompt: Prompt) -> EditedAnswer | None:
    """What the model of that name makes of a question; None after the page has said why there is nothing."""
    if (before := answer(name, prompt)) is None:
        return None
    editing = editor(str(slot), name, prompt)
    after = (answer(name, prompt, editing.edits) if editing.edits else None) or before
    return EditedAnswer(before, after, replace(editing, applied=before is not after))


def weighed_answers(
    answers: Mapping[int, EditedAnswer], names: Sequence[str], sidebar: DeltaGenerator
) -> dict[int, EditedAnswer]:
    """The answers of all models with the numbers that are chosen in their maps; with weights, where one is edited."""
    by = numbers_picker(sidebar, known=all(each.before is each.after for each in answers.values()))
    if by == "weights":
        return dict(answers)
    shown = {slot: weigh_answer(names[slot - 1], each.before, by) for slot, each in answers.items()}
    return {slot: replace(each, before=shown[slot], after=shown[slot]) for slot, each in answers.items()}
