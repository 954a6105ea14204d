"""What is kept of a text before and after the edits of the model that reads it."""

from attnviz.core.trace import AttentionTrace
from attnviz.figures.edits.said import told
from attnviz.ui.edits.said import show_said
from attnviz.ui.summarize.pictures import Summary


def tell_kept(before: Summary, after: Summary, traces: tuple[AttentionTrace, AttentionTrace]) -> None:
    """The kept words and sentences by the chosen way, or the summary that the model writes, without edits and with them."""
    both = before, after
    rows = [
        told("Kept words", *(each.passage.words(each.selection.units) for each in both)),
        told("Kept sentences", *(each.passage.extract(each.selection.sentences) for each in both)),
    ]
    if traces[0].output:
        rows.insert(0, told("Written", *(trace.output for trace in traces)))
    show_said(rows)
