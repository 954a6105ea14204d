"""What a person can take along from a page: the picture, its numbers, the trace, and the lines of Python that make it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import View, head_matrix
from attnviz.analysis.wording import head_name
from attnviz.core.edits import NO_EDITS, Edits
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt
from attnviz.export import FORMATS, Picture, arcs, export, grid, matrix, png, shaded_text, svg
from attnviz.export.picture import is_whole, other_head, part_of, parts
from attnviz.export.python import lines, prompt_expression
from attnviz.export.sheet import Sheet, side_by_side, titled
from attnviz.figures.explorer import TooLargeError, check_size
from attnviz.files import to_bytes
from attnviz.models.translate.decode import DecodingOptions
from attnviz.ui.address.state import value
from attnviz.ui.background.results import Traced
from attnviz.ui.layout import escaped
from attnviz.ui.sidebar import HeadChoice
from attnviz.ui.trace_file import file_box

_TABLES = ("csv", "npz", "json")
_KINDS: dict[str, Callable[[Picture], Sheet]] = {
    "Matrix": matrix.draw_matrix,
    "Arcs": arcs.draw_arcs,
    "Text": lambda shown: shaded_text.draw_shaded_text(shown, focus_cell(shown.matrix)[0]),
    "All heads": grid.draw_grid,
}
_MOST_HEADS = 12
# What the Python of a translation imports.
DRAFTED = "from attnviz.models.translate.decode import DecodingOptions, draft"
READ_AS = "from attnviz.analysis.translate.alignment import read_as"


@dataclass(frozen=True)
class Kept:
    """A head of the page, made only when somebody wants to keep it, and the Python that makes its trace again.

    sheets  what the page shows besides: for each name a function that draws it
    """

    label: str
    picture: Callable[[], Picture]
    made: str
    imports: tuple[str, ...] = ()
    attention: str = ""
    sheets: Mapping[str, Callable[[], Sheet]] = field(default_factory=dict)


def head_picture(
    trace: AttentionTrace, attention: AttentionMap, place: tuple[int, int | None], view: View
) -> Callable[[], Picture]:
    """Makes the picture of a head when it is asked for; of a map with fewer layers or heads, that of its last."""
    layer, head = min(place[0], attention.n_layers - 1), None if place[1] is None else min(place[1], attention.n_heads - 1)

    def picture() -> Picture:
        return Picture(trace, attention.kind, layer, head, head_matrix(attention, layer=layer, head=head, view=view), view)

    return picture


def traced_in_python(name: str, prompt: Prompt, edits: Edits = NO_EDITS) -> str:
    """The expression that makes the trace of a prompt, with the edits."""
    return f"av.load({name!r}).trace({prompt_expression(prompt)}{f', edits={edits.text!r}' if edits else ''})"


def kept_head(name: str, traced: Traced, attention: AttentionMap, choice: HeadChoice) -> Kept:
    """The head that Encode shows; `name` is what the model is called here."""

    def picture() -> Picture:
        shown = head_matrix(attention, layer=choice.layer, head=choice.head, view=choice.view)
        return Picture(traced.trace, attention.kind, choice.layer, choice.head, shown, choice.view, choice.full_scale)

    made = f"av.open({traced.file!r})" if traced.file else traced_in_python(name, traced.trace.prompt, traced.trace.edits)
    return Kept(name, picture, made)


def kept_answer(
    name: str, picture: Callable[[], Picture], trace: AttentionTrace, sheets: Mapping[str, Callable[[], Sheet]]
) -> Kept:
    """A head that Answer shows, and what it marks in the passage."""
    return Kept(name, picture, traced_in_python(name, trace.prompt, trace.edits), sheets=sheets)


def kept_draft(
    name: str,
    picture: Callable[[], Picture],
    prompt: Prompt,
    options: DecodingOptions | None,
    *,
    naive: bool = False,
    edits: Edits = NO_EDITS,
) -> Kept:
    """A translation that Translate shows; `options` None: the one that the model gives when it is only asked for its trace.

    `naive` rows are named after the token that is written there (`attnviz.analysis.translate.alignment.read_as`).
    """
    if options is None and not naive:
        return Kept(name, picture, traced_in_python(name, prompt, edits))
    made = drafted_in_python(name, prompt, options or DecodingOptions(), edits)
    if not naive:
        return Kept(name, picture, f"{made}.trace", (DRAFTED,))
    return Kept(name, picture, made, (READ_AS, DRAFTED), "read_as(result.trace.cross, result.written, 'naive')")


def drafted_in_python(name: str, prompt: Prompt, options: DecodingOptions, edits: Edits = NO_EDITS) -> str:
    """The expression that makes a translation of a prompt again, with the edits."""
    edited = f", av.Edits.parse({edits.text!r})" if edits else ""
    target = f", target={prompt.target!r}" if prompt.target else ""
    return f"draft(av.load({name!r}), av.Prompt({prompt.text!r}{target}), {options!r}{edited})"


def take_along(shown: Sequence[Kept], own: Callable[[], None] = lambda: None) -> None:
    """A button with all that can be taken along: nothing is computed before it is opened, no file before it is asked for.

    `own` draws the buttons of a page whose picture is no head.
    """
    box = st.popover("Download", icon=":material/download:", key="keep", on_change="rerun")
    if not box.open:
        return
    with box:
        own()
        if shown:
            _downloads(shown)
        file_box()


def _downloads(shown: Sequence[Kept]) -> None:
    kept, slot = shown[0], 0
    if len(shown) > 1:
        slot = st.selectbox("Model", range(len(shown)), format_func=lambda index: shown[index].label, key="kept")
        kept = shown[slot]
    try:
        picture = kept.picture()
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
        return
    name = re.sub(r"[^\w.-]+", "-", f"{kept.label}-{picture.name}".replace("·", "")).strip("-.")
    chosen = _pictures(kept, picture, name, slot)
    st.caption(f"The numbers of {', '.join(each.name for each in chosen)}")
    with st.container(horizontal=True):
        for each in _TABLES:
            _button(each.upper(), f"{name}.{each}", FORMATS[each].media_type, lambda to=each: export(chosen, to))
    st.caption("All heads: a page to explore in any browser, and a trace file that attnviz opens again")
    with st.container(horizontal=True):
        _whole(picture, name)
    with st.expander("The picture in Python", icon=":material/code:"):
        python = lines(picture, made=kept.made, imports=kept.imports, attention=kept.attention)
        st.code(python, language="python", wrap_lines=True)


def _pictures(kept: Kept, picture: Picture, name: str, slot: int) -> list[Picture]:
    """What is drawn, of which heads, and of which part of a long text; as SVG and PNG. Returns the heads that are chosen."""
    whole = is_whole(picture)
    kinds = [*kept.sheets, *(kind for kind in _KINDS if whole or kind != "All heads")]
    kind = st.segmented_control("Picture", kinds, key="keep_kind", default=next(iter(kept.sheets), "Matrix"),
                                required=True)  # fmt: skip
    heads, file = [picture], f"{name}-{re.sub(r'[^a-z]+', '-', kind.lower())}"
    if kind in kept.sheets:
        _vectors(file, kept.sheets[kind])
    elif kind == "All heads":
        _vectors(file, lambda: grid.draw_grid(picture))
    else:
        heads = _heads(picture) if whole else heads
        part = _part(picture, kind, slot)
        _vectors(name if kind == "Matrix" else file, lambda: _sheet(kind, heads, part, slot))
    return heads


def _vectors(file: str, sheet: Callable[[], Sheet]) -> None:
    with st.container(horizontal=True):
        _button("SVG", f"{file}.svg", FORMATS["svg"].media_type, lambda: svg.sheet_svg(sheet()))
        _button("PNG", f"{file}.png", FORMATS["png"].media_type, lambda: png.sheet_png(sheet()))


def _heads(picture: Picture) -> list[Picture]:
    """The heads that are drawn side by side, that of the page first."""
    attention = picture.trace.map(picture.kind)
    if attention.n_layers * attention.n_heads == 1:
        return [picture]
    places = [(layer, head) for layer in range(attention.n_layers) for head in (*range(attention.n_heads), None)]
    others = st.multiselect(
        "More heads beside it", [place for place in places if place != (picture.layer, picture.head)],
        format_func=lambda place: head_name(*place), key="keep_heads", max_selections=_MOST_HEADS,
    )  # fmt: skip
    return [picture, *(other_head(picture, layer, head) for layer, head in others)]


def _part(picture: Picture, kind: str, slot: int) -> range | None:
    """The part of a long text that is drawn: at first the one where the page looks; None: all of it."""
    known = parts(picture)
    if len(known) == 1 or kind == "Text":
        return None
    row = _row(picture, slot)
    options = [*known, None] if kind == "Matrix" else known
    return st.selectbox(
        "Part of the text", options, index=next(at for at, part in enumerate(known) if row in part),
        format_func=lambda part: f"Tokens {part[0] + 1} to {part[-1] + 1}" if part else "Whole, with some labels left out",
        key=f"keep_part_{kind}",
    )  # fmt: skip


def _row(picture: Picture, slot: int) -> int:
    """The query that the page looks at, else the head's most telling one."""
    for query in (value("query"), value(f"query{slot + 1}")):
        if query in picture.matrix.rows:
            return picture.matrix.rows.index(query)
    return focus_cell(picture.matrix)[0]


def _sheet(kind: str, heads: list[Picture], part: range | None, slot: int) -> Sheet:
    """One drawing, or several with their heads' names above them."""
    drawn = []
    for each in heads:
        cut = part_of(each, part) if part else each
        drawn.append(shaded_text.draw_shaded_text(cut, _row(each, slot)) if kind == "Text" else _KINDS[kind](cut))
    if len(drawn) == 1:
        return drawn[0]
    named = drawn if kind == "Text" else [titled(sheet, each.name) for sheet, each in zip(drawn, heads, strict=True)]
    return side_by_side(named, ", ".join(each.name for each in heads))


def _whole(picture: Picture, name: str) -> None:
    _button("Trace file", f"{name.rsplit('-', 1)[0]}.attn", "application/octet-stream", lambda: to_bytes(picture.trace))
    try:
        check_size(picture.trace)
    except TooLargeError as error:
        st.caption(escaped(error))
    else:
        _button("HTML", f"{name}.html", FORMATS["html"].media_type, lambda: export(picture, "html"))


def _button(label: str, file: str, media_type: str, data: Callable[[], bytes]) -> None:
    st.download_button(label, data, file, media_type, key=f"download_{file.rsplit('.', 1)[-1]}", on_click="ignore")
