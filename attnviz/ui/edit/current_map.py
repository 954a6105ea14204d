"""Which of the two maps of an edited text is drawn, and what is told of it: after the edits, before, or their difference."""

from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from attnviz.analysis.compare.comparison import compare
from attnviz.analysis.difference import difference
from attnviz.analysis.wording import Part, Sentence, head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Kind
from attnviz.ui.edit.state import Editor
from attnviz.ui.sidebar import HeadChoice

# Made once, for what is drawn of a map is kept as long as it is.
_DIFFERENCES: WeakKeyDictionary[AttentionMap, tuple[AttentionMap, AttentionMap]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Shown:
    """The map of one kind before and after the edits; `editing` None: nothing can be edited here."""

    before: AttentionTrace
    after: AttentionTrace
    kind: Kind
    editing: Editor | None

    @staticmethod
    def of(before: AttentionTrace, after: AttentionTrace, kind: Kind, editing: Editor | None) -> "Shown":
        """Brings both together; where the model could not be edited they are one, and the picture has no marks."""
        return Shown(before, after, kind, replace(editing, applied=before is not after) if editing else None)

    @property
    def is_edited(self) -> bool:
        return self.before is not self.after

    @property
    def compared(self) -> str:
        """Which of both is in view, "After", "Before" or "Difference"; after, where nothing is edited."""
        return self.editing.compared if self.editing and self.is_edited else "After"

    @property
    def current(self) -> AttentionMap:
        """The map that sentences are made of."""
        return (self.before if self.compared == "Before" else self.after).map(self.kind)

    @property
    def alike(self) -> bool:
        """Whether both are over the same tokens, so that they have a difference."""
        one, other = self.before.map(self.kind), self.after.map(self.kind)
        return (one.queries, one.keys) == (other.queries, other.keys)

    @cached_property
    def drawn(self) -> AttentionMap:
        """The map that is drawn."""
        if self.compared != "Difference" or not self.alike:
            return self.current
        one, other = self.before.map(self.kind), self.after.map(self.kind)
        kept = _DIFFERENCES.get(other)
        if kept is None or kept[0] is not one:
            made = difference(one, other)
            assert made is not None
            kept = _DIFFERENCES[other] = one, made
        return kept[1]

    def choice(self, choice: HeadChoice) -> HeadChoice:
        """How it is drawn: the rows of a difference sum to 0, and are scaled to nothing."""
        return choice if self.drawn is self.current else replace(choice, view=replace(choice.view, renormalize=False))

    @property
    def first(self) -> AttentionMap:
        """The map whose most telling cell is looked at where none was chosen: an edit does not move what one looks at."""
        return self.before.map(self.kind) if self.alike else self.current

    def sentences(self, choice: HeadChoice) -> tuple[Sentence, ...]:
        """What is told of a head in place of where it looks: that it is off, or what changed in it; else nothing."""
        layer, head = choice.layer, choice.head
        if off := self.off(layer, head):
            return off
        if head is None or self.drawn is self.current:
            return ()
        try:
            return (compare(self.before, self.after, kind=self.kind).sentence((layer, head)),)
        except TraceError:
            return ()

    def off(self, layer: int, head: int | None) -> tuple[Sentence, ...]:
        """What is told of a head, or with None of all of a layer, that is switched off; of others nothing."""
        heads = range(self.current.n_heads) if head is None else (head,)
        if not self.is_edited or any(self.current.weights(layer, each).any() for each in heads):
            return ()
        return ((Part(head_name(layer, head), True), Part(" is switched off: it adds nothing to any token.")),)
