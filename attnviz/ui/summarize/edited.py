"""What is kept of a text before and after the edits of the model that reads it, and what its numbers are."""

from streamlit.delta_generator import DeltaGenerator

from attnviz.figures.edit.before_after import changed_text
from attnviz.ui.background.results import Traced
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.output import show_said
from attnviz.ui.quantity import Weighed, as_in, numbers_picker, weigh
from attnviz.ui.summarize.view import Options, summary_of


def weighed_maps(name: str, both: tuple[Traced, Traced], maps: Shown, sidebar: DeltaGenerator) -> tuple[Weighed, Shown]:
    """The heads with the numbers that are chosen in the sidebar; with weights, where anything is edited.

    What is kept of the text is chosen by weights all the same: so the ways are defined, and measured.
    """
    before, after = both
    if after is not before:
        numbers_picker(sidebar, known=False)
        return as_in(before, before if maps.compared == "Before" else after), maps
    weighed = weigh(name, before, sidebar)
    return weighed, Shown.of(weighed.trace, weighed.trace, maps.kind, maps.editing)


def tell_kept(before: Traced, after: Traced, maps: Shown, chosen: Options) -> None:
    """The kept words and sentences by the chosen way, or the summary that the model writes, without edits and with them."""
    both = [summary_of(each, each.trace.map(maps.kind), chosen) for each in (before, after)]
    rows = [
        changed_text("Kept words", *(each.passage.words(each.selection.units) for each in both)),
        changed_text("Kept sentences", *(each.passage.extract(each.selection.sentences) for each in both)),
    ]
    if maps.before.output:
        rows.insert(0, changed_text("Written", maps.before.output, maps.after.output))
    show_said(rows)
