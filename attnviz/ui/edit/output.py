"""What the model says, before and after the edits: one function a kind of output, each of which draws it where it is called."""

from collections.abc import Sequence

from attnviz.analysis.edit.wording import describe_edits
from attnviz.core.edits import Edits
from attnviz.core.trace import AttentionTrace
from attnviz.figures import html as shared
from attnviz.figures.edit.before_after import (
    STYLE,
    OutputChange,
    before_and_after,
    changed_text,
    edit_chips,
    moved,
    number,
    ranked,
)
from attnviz.models.reading import shifts
from attnviz.models.result import Result
from attnviz.ui.background.results import with_readings
from attnviz.ui.edit.edits_in_address import Editor, change, edits_now
from attnviz.ui.layout import theme
from attnviz.ui.markup import Markup

_markup = Markup("edits", shared.STYLE + STYLE)


def show_chips(editing: Editor, trace: AttentionTrace) -> None:
    """The edits in words, named by the tokens of the trace; a press on one takes it away."""
    slot = editing.slot

    def take(picked: str) -> None:
        gone = set(Edits.parse(picked).each)
        change(Edits(tuple(edit for edit in edits_now(slot).each if edit not in gone)), slot)

    _markup(f"chips{slot}", edit_chips(describe_edits(editing.edits, trace), theme=theme()), take)


def show_changes(rows: Sequence[OutputChange], *, below: str = "", slot: str = "") -> None:
    """What a model says, as a table of before and after."""
    if rows or below:
        _markup(f"said{slot}", before_and_after(rows, theme=theme(), below=below))


def show_reading(result: Result) -> None:
    """What a model makes of a text on Encode: what it writes, or what its layers on top say, and how far its states moved."""
    edited = result.before
    if len(result.trace.maps) > 1:
        show_changes([changed_text("Output", edited.trace.output, result.trace.output)] if edited else [])
        return
    if result.file or (read := with_readings(result)) is None:
        return
    one, other = read.unedited.reading, read.reading
    rows = [
        ranked(place, shares, then[1] if edited else None)
        for (place, shares), then in zip(one.likeliest, other.likeliest, strict=True)
    ]
    if one.similarity is not None and other.similarity is not None:
        rows.append(number("Similarity of the two sentences", one.similarity, other.similarity if edited else None))
    show_changes(rows, below=moved(one.tokens, shifts(one, other), theme=theme()) if edited else "")
