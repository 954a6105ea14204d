"""How every alignment of the page is drawn, and which of its cells is looked at."""

from dataclasses import dataclass, replace

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.translate.alignment import (
    Reading,
    balanced_links,
    clearest_link,
    links_from,
    origin_of,
    read_as,
    strongest_links,
)
from attnviz.analysis.view import HeadMatrix, View, head_matrix
from attnviz.core.trace import AttentionMap
from attnviz.export import Picture
from attnviz.export.translate import links
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.address.state import publish, value
from attnviz.ui.background.results import Drafted
from attnviz.ui.download import Kept, kept_draft
from attnviz.ui.explorer import selected_cell
from attnviz.ui.head_picker import truer
from attnviz.ui.quantity import draft_in_python
from attnviz.ui.sidebar import HeadChoice


@dataclass(frozen=True)
class Drawing:
    """How every alignment of the page is drawn.

    head     None: the mean over the layer's heads
    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     "Off", "Strongest", "Balanced" or "Threshold": how the hard links are found; `threshold` is the least weight of one
    word     the target word that is looked at where none was chosen, if it is there
    """

    layer: int
    head: int | None
    reading: Reading | None
    view: View
    full_scale: bool
    hard: str
    threshold: float
    word: str = ""

    def head_of(self, drafted: Drafted) -> tuple[int, int | None]:
        """Layer and head that are drawn of a model; of one with fewer, its last; of heads that are mixed, their layer."""
        attention = drafted.trace.cross
        mixed = drafted.weighed is not None and drafted.weighed.by == "mixing"
        head = None if self.head is None or mixed else min(self.head, attention.n_heads - 1)
        return min(self.layer, attention.n_layers - 1), head

    def reading_of(self, drafted: Drafted) -> Reading:
        """The reading that is drawn of a model."""
        return self.reading or truer(drafted.card, *self.head_of(drafted))

    def attention(self, drafted: Drafted) -> AttentionMap:
        """The cross-attention of a model, its rows read as they are drawn."""
        draft = drafted.draft
        attention = draft.trace.cross
        return read_as(attention, draft.written, self.reading_of(drafted)) if draft.reads_its_rows else attention

    def choice(self, drafted: Drafted) -> HeadChoice:
        """The head that is drawn of a model, and how."""
        return HeadChoice(*self.head_of(drafted), self.view, self.full_scale)

    def matrix(self, drafted: Drafted) -> HeadMatrix:
        """The alignment as it is drawn."""
        layer, head = self.head_of(drafted)
        return head_matrix(self.attention(drafted), layer=layer, head=head, view=self.view)

    def kept(self, name: str, drafted: Drafted, options: DecodingOptions) -> Kept:
        """The alignment of the model of that name as it is drawn, for who wants to keep it."""
        trace = drafted.trace
        layer, head = self.head_of(drafted)

        def picture() -> Picture:
            return Picture(trace, "cross", layer, head, self.matrix(drafted), self.view, self.full_scale)

        naive = drafted.draft.reads_its_rows and self.reading_of(drafted) == "naive"
        usual = not drafted.draft.task_prefix and (trace.prompt.target or options == DecodingOptions())
        kept = kept_draft(name, picture, trace.prompt, None if usual else options, naive=naive, edits=trace.edits)
        kept = draft_in_python(kept, name, drafted, options, naive=naive)
        return replace(kept, sheets={"Word links": lambda: links.draw_links(picture(), self.links(self.matrix(drafted)))})

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """The hard links of a matrix, None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def options_of(slot: int, options: DecodingOptions) -> DecodingOptions:
    """The options with what was chosen for the model at `slot`, now or in the address: how it begins, and the candidate."""
    begins, candidate = value(f"begins{slot}", ""), value(f"candidate{slot}", 0)
    publish(f"begins{slot}", begins, "")
    publish(f"candidate{slot}", candidate, 0)
    return replace(options, begins=tuple(begins.split(" ")) if begins else (), candidate=candidate)


def chosen_cell(matrix: HeadMatrix, slot: int, word: str) -> tuple[int, int]:
    """The (row, column) chosen in the picture at `slot`, else the strongest of `word`, else the surest between two words."""
    if (cell := selected_cell(matrix, str(slot))) is not None:
        return cell
    link = origin_of(matrix, word) or clearest_link(matrix)
    return (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))
