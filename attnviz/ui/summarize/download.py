"""What Summarize shows, to take along."""

from attnviz.analysis.summarize.selection import Passage, Selection
from attnviz.analysis.summarize.selectors import Selector
from attnviz.analysis.view import View
from attnviz.core.trace import AttentionMap
from attnviz.export import shaded_text
from attnviz.export.sheet import Sheet
from attnviz.ui.download import Kept, head_picture, traced_in_python
from attnviz.ui.quantity import Weighed, in_python


def kept_summary(
    name: str,
    traced: Weighed,
    attention: AttentionMap,
    place: tuple[int, int | None],
    marked: tuple[Passage, Selection, Selector],
) -> Kept:
    """A head that Summarize chooses by, and the text with what is kept of it framed."""
    marked_passage, kept, way = marked
    scores = way.units - min(float(way.units.min()), 0.0)

    def sheet() -> Sheet:
        return shaded_text.draw_marked(marked_passage.units, scores, kept.units, f"What is kept, framed; shaded by: {way.name}")

    picture = head_picture(traced.trace, attention, place, View())
    made = traced_in_python(name, traced.trace.prompt, traced.trace.edits)
    return in_python(Kept(name, picture, made, sheets={"Passage": sheet}), name, traced.changes)
