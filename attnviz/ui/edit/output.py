"""What the model says, before and after the edits: one function a kind of output, each of which draws it where it is called."""

from collections.abc import Sequence

from attnviz.analysis.edit.wording import describe_edits
from attnviz.core.edits import Edits
from attnviz.core.trace import AttentionTrace
from attnviz.figures import html as shared
from attnviz.figures.edit.before_after import STYLE, Said, before_and_after, changed_text, edit_chips, moved, number, ranked
from attnviz.ui.edit.current_map import Shown
from attnviz.ui.edit.results import read
from attnviz.ui.edit.state import Editor, change, edits_now
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


def show_said(rows: Sequence[Said], *, below: str = "", slot: str = "") -> None:
    """What a model says, as a table of before and after."""
    if rows or below:
        _markup(f"said{slot}", before_and_after(rows, theme=theme(), below=below))


def show_reading(name: str, shown: Shown) -> None:
    """What a model makes of a text on Encode: what it writes, or what its layers on top say, and how far its states moved."""
    before, after, edits = shown.before, shown.after, shown.after.edits
    if len(before.maps) > 1:
        show_said([changed_text("Output", before.output, after.output)] if shown.is_edited else [])
        return
    if shown.editing is None or (effect := read(name, before.prompt, edits)) is None:
        return
    one, other = effect.before, effect.after
    rows = [
        ranked(place, shares, then[1] if edits else None)
        for (place, shares), then in zip(one.likeliest, other.likeliest, strict=True)
    ]
    if one.similarity is not None and other.similarity is not None:
        rows.append(number("Similarity of the two sentences", one.similarity, other.similarity if edits else None))
    show_said(rows, below=moved(one.tokens, effect.shifts, theme=theme()) if edits else "")
