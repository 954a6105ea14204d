"""Which of the two maps of an edited text is drawn, and what is said of it: after the edits, before, or their difference."""

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from attnviz.analysis.difference import difference
from attnviz.analysis.head_view import HeadView
from attnviz.analysis.whatif.comparison import compare
from attnviz.analysis.wording import Part, Sentence, head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, Kind
from attnviz.models.result import Result
from attnviz.ui.edit.edits_in_address import Editor

# Made once, for what is drawn of a map is kept as long as it is.
_DIFFERENCES: WeakKeyDictionary[AttentionMap, tuple[AttentionMap, AttentionMap]] = WeakKeyDictionary()


def current_result(result: Result, editing: Editor | None) -> Result:
    """The result that is in view: with the edits, or without."""
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
        """How it is drawn: the rows of a difference sum to 0, and are scaled to nothing."""
        return head if self.drawn is self.current else replace(head, view=replace(head.view, renormalize=False))

    @property
    def first(self) -> AttentionMap:
        """The map whose strongest cell is looked at where none was chosen: an edit does not move what one looks at."""
        return self.before if self.alike else self.current

    def describe_edited(self, head: HeadView) -> tuple[Sentence, ...]:
        """What is said of a head in place of where it looks: that it is off, or what changed in it; else nothing."""
        if off := self.describe_off(head):
            return off
        if head.head is None or self.drawn is self.current:
            return ()
        try:
            compared = compare(self.result.unedited.trace, self.result.trace, kind=self.kind)
            return (compared.sentence((head.layer, head.head)),)
        except TraceError:
            return ()

    def describe_off(self, head: HeadView) -> tuple[Sentence, ...]:
        """What is said of a head, or of all of a layer, that is switched off; of others nothing."""
        heads = range(self.current.n_heads) if head.head is None else (head.head,)
        if not self.result.before or any(self.current.weights(head.layer, each).any() for each in heads):
            return ()
        name = head_name(head.layer, head.head)
        return ((Part(name, True), Part(" is switched off: it adds nothing to any token.")),)
