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
    truer,
)
from attnviz.analysis.view import HeadMatrix, HeadView
from attnviz.core.trace import AttentionMap
from attnviz.export import Picture
from attnviz.export.translate import links
from attnviz.models.result import Result
from attnviz.ui.download import Download, source_of
from attnviz.ui.explorer import selected_cell


@dataclass(frozen=True)
class AlignmentView(HeadView):
    """Which head is drawn of the cross-attention, and how.

    reading  which of a word's two rows stands for it, in a model whose decoder reads what it wrote; None: the truer one
    hard     "Off", "Strongest", "Balanced" or "Threshold": how the hard links are found; `threshold` is the least weight of one
    word     the target word that is looked at where none was chosen, if it is there
    """

    reading: Reading | None
    hard: str
    threshold: float
    word: str = ""

    def of(self, result: Result) -> "AlignmentView":
        """The same of one model: the head it has, or of heads that are mixed their layer; and the reading of that head."""
        own = self.within(result.trace.cross, mean=result.quantity == "mixing")
        return replace(own, reading=self.reading or truer(result.card.metrics, own.layer, own.head))

    def attention(self, result: Result) -> AttentionMap:
        """The cross-attention of a model, its rows read as they are drawn."""
        draft, attention = result.draft, result.trace.cross
        reading = self.of(result).reading
        return read_as(attention, draft.written, reading) if draft.reads_its_rows and reading else attention

    def alignment(self, result: Result) -> HeadMatrix:
        """The alignment of a model as it is drawn."""
        return self.of(result).matrix(self.attention(result))

    def links(self, matrix: HeadMatrix) -> tuple[Link, ...] | None:
        """The hard links of a matrix, None where they are off."""
        if self.hard == "Strongest":
            return strongest_links(matrix)
        if self.hard == "Balanced":
            return balanced_links(matrix)
        return links_from(matrix, self.threshold) if self.hard == "Threshold" else None


def alignment_download(result: Result, view: AlignmentView) -> Download:
    """The alignment of a model as it is drawn."""
    own = view.of(result)

    def picture() -> Picture:
        return Picture(result.trace, "cross", own.layer, own.head, view.alignment(result), own.view, own.full_scale)

    source = source_of(result, naive=result.draft.reads_its_rows and own.reading == "naive")
    sheets = {"Word links": lambda: links.draw_links(picture(), view.links(view.alignment(result)))}
    return Download(result.name, picture, source, sheets)


def chosen_cell(matrix: HeadMatrix, slot: int, word: str) -> tuple[int, int]:
    """The (row, column) chosen in the picture at `slot`, else the strongest of `word`, else the surest between two words."""
    if (cell := selected_cell(matrix, str(slot))) is not None:
        return cell
    link = origin_of(matrix, word) or clearest_link(matrix)
    return (link.query, link.key) if link else (0, int(matrix.weights[0].argmax()))
