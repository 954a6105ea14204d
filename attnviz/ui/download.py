"""What a person can download from a page: the picture, its numbers, the trace, and the lines of Python that make it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import streamlit as st

from attnviz.analysis.first_cell import first_cell
from attnviz.analysis.head_view import HeadView
from attnviz.analysis.wording import head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionTrace, Kind
from attnviz.core.write import WritingOptions
from attnviz.export import FORMATS, Picture, arcs, draw_sheet, export, formats_of, grid, matrix, shaded_text
from attnviz.export.picture import is_whole, other_head, part_of, parts
from attnviz.export.python import Source, prompt_expression, trace_expression
from attnviz.export.python import lines as python_lines
from attnviz.export.sheet import Sheet, side_by_side, titled
from attnviz.figures.explorer import TooLargeError, check_size
from attnviz.files import to_bytes
from attnviz.models.result import Result
from attnviz.models.translate.draft import GREEDY
from attnviz.ui.address.address_sync import value
from attnviz.ui.escape_markdown import escaped

_KINDS: dict[str, Callable[[Picture], Sheet]] = {
    "Matrix": matrix.draw_matrix,
    "Arcs": arcs.draw_arcs,
    "Text": lambda shown: shaded_text.draw_shaded_text(shown, first_cell(shown.matrix)[0]),
    "All heads": grid.draw_grid,
}
_MOST_HEADS = 12
_OPTIONS = "from attnviz.models.translate.decode import DecodingOptions"
_DRAFT = "from attnviz.models.translate.decode import DecodingOptions, draft"
_READ_AS = "from attnviz.analysis.translate.alignment import read_as"


@dataclass(frozen=True)
class Download:
    """A head of the page, drawn only when somebody wants to have it, and where Python has it from.

    sheets  what the page shows besides: for each name a function that draws it
    """

    label: str
    picture: Callable[[], Picture]
    source: Source
    sheets: Mapping[str, Callable[[], Sheet]] = field(default_factory=dict)


def head_picture(trace: AttentionTrace, kind: Kind, head: HeadView) -> Callable[[], Picture]:
    """Makes the picture of a head when it is asked for; of a map with fewer layers or heads, that of its last."""
    attention = trace.map(kind)
    head = head.within(attention)
    return lambda: Picture(trace, kind, head.layer, head.head, head.matrix(attention), head.view, head.full_scale)


def head_download(
    result: Result, kind: Kind, head: HeadView, sheets: Mapping[str, Callable[[], Sheet]] | None = None
) -> Download:
    """A head of a result, and what the page shows besides."""
    return Download(result.name, head_picture(result.trace, kind, head), source_of(result), sheets or {})


def source_of(result: Result, *, naive: bool = False) -> Source:
    """Where Python has the trace of a result from, by the name of its model and the same edits, options and quantity.

    `naive` rows are named after the token that is written there (`attnviz.analysis.translate.alignment.read_as`).
    """
    if result.file:
        return Source(f"av.open({result.file!r})")
    if isinstance(result.options, WritingOptions):
        return Source(_writing_expression(result, result.options))
    load, prompt, edits = f"av.load({result.name!r})", prompt_expression(result.prompt), result.trace.edits
    if result.quantity != "weights":
        is_plain = result.options == GREEDY
        options = "" if is_plain else f", options={result.options!r}"
        made = f"av.run({load}, {result.task!r}, {prompt}{options}, quantity={result.quantity!r})"
        imports = () if is_plain else (_OPTIONS,)
        if naive:
            return Source(made, (_READ_AS, *imports), "read_as(result.trace.cross, result.draft.written, 'naive')")
        return Source(f"{made}.trace", imports)
    if not naive and (result.task != "translate" or _writes_unasked(result)):
        return Source(trace_expression(result.name, result.prompt, edits))
    # A decoder takes a Prompt.
    prompt = prompt if prompt.startswith("av.") else f"av.Prompt({prompt})"
    edited = f", av.Edits.parse({edits.text!r})" if edits else ""
    options = GREEDY if _writes_unasked(result) else result.options
    made = f"draft({load}, {prompt}, {options!r}{edited})"
    if not naive:
        return Source(f"{made}.trace", (_DRAFT,))
    return Source(made, (_READ_AS, _DRAFT), "read_as(result.trace.cross, result.written, 'naive')")


def _writing_expression(result: Result, options: WritingOptions) -> str:
    edits, text = result.trace.edits, result.prompt.text
    chosen = options.edited if edits else options.unedited
    more = {each.name: value for each in fields(chosen) if (value := getattr(chosen, each.name)) != each.default}
    more |= {"edits": edits.text} if edits else {}
    given = [f"av.load({result.name!r})", "'write'", repr(text[: len(text) - len(result.trace.output)])]
    return f"av.run({', '.join([*given, *(f'{name}={value!r}' for name, value in more.items())])}).trace"


def _writes_unasked(result: Result) -> bool:
    """Whether a translation is the one that the model gives when it is only asked for its trace."""
    return not result.draft.task_prefix and (bool(result.prompt.target) or result.options == GREEDY)


def download_button(shown: Sequence[Download], own: Callable[[], None] = lambda: None) -> None:
    """A button with all that can be had: nothing is computed before it is opened, no file before it is asked for.

    `own` draws the buttons of a page whose picture is no head.
    """
    box = st.popover("Download", icon=":material/download:", key="keep", on_change="rerun")
    if not box.open:
        return
    with box:
        own()
        if shown:
            _downloads(shown)


def drawing_buttons(file: str, sheet: Callable[[], Sheet], key: str = "download") -> None:
    """A button for each format of drawings; `file` is the file's name without its end."""
    for to in formats_of("drawing"):
        file_button(f"{file}.{to}", lambda to=to: draw_sheet(sheet(), to), key=f"{key}_{to}")


def file_button(file: str, data: Callable[[], bytes], label: str = "", key: str = "") -> None:
    """A button for a file, which is made when it is asked for; what it is follows from the end of its name."""
    to = file.rsplit(".", 1)[-1]
    media_type = FORMATS[to].media_type if to in FORMATS else "application/octet-stream"
    st.download_button(label or to.upper(), data, file, media_type, key=key or f"download_{to}", on_click="ignore")


def _downloads(shown: Sequence[Download]) -> None:
    chosen, slot = shown[0], 0
    if len(shown) > 1:
        slot = st.selectbox("Drawn from", range(len(shown)), format_func=lambda index: shown[index].label, key="kept")
        chosen = shown[slot]
    try:
        picture = chosen.picture()
    except TraceError as error:
        st.info(escaped(error), icon=":material/visibility_off:")
        return
    file = re.sub(r"[^\w.-]+", "-", f"{chosen.label}-{picture.name}".replace("·", "")).strip("-.")
    heads = _drawings(chosen, picture, file, slot)
    st.caption(f"The numbers of {', '.join(each.name for each in heads)}")
    with st.container(horizontal=True):
        for to in formats_of("numbers"):
            file_button(f"{file}.{to}", lambda to=to: export(heads, to))
    st.caption("All heads: a page to explore in any browser, and a trace file that attnviz opens again")
    with st.container(horizontal=True):
        _whole_buttons(picture, file)
    with st.expander("The picture in Python", icon=":material/code:"):
        st.code(python_lines(picture, chosen.source), language="python", wrap_lines=True)


def _drawings(chosen: Download, picture: Picture, file: str, slot: int) -> list[Picture]:
    """What is drawn, of which heads, and of which part of a long text. Returns the heads that are chosen."""
    whole = is_whole(picture)
    kinds = [*chosen.sheets, *(kind for kind in _KINDS if whole or kind != "All heads")]
    kind = st.segmented_control("Picture", kinds, key="keep_kind", default=next(iter(chosen.sheets), "Matrix"),
                                required=True)  # fmt: skip
    heads, named = [picture], f"{file}-{re.sub(r'[^a-z]+', '-', kind.lower())}"
    if kind in chosen.sheets:
        sheet = chosen.sheets[kind]
    elif kind == "All heads":
        sheet = lambda: grid.draw_grid(picture)
    else:
        heads = _heads_picker(picture) if whole else heads
        part = _part_picker(picture, kind, slot)
        named = file if kind == "Matrix" else named
        sheet = lambda: _sheet(kind, heads, part, slot)
    with st.container(horizontal=True):
        drawing_buttons(named, sheet)
    return heads


def _heads_picker(picture: Picture) -> list[Picture]:
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


def _part_picker(picture: Picture, kind: str, slot: int) -> range | None:
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
    """The query that the page looks at, else that of the head's strongest link."""
    for query in (value("query"), value(f"query{slot + 1}")):
        if query in picture.matrix.rows:
            return picture.matrix.rows.index(query)
    return first_cell(picture.matrix)[0]


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


def _whole_buttons(picture: Picture, file: str) -> None:
    file_button(f"{file.rsplit('-', 1)[0]}.attn", lambda: to_bytes(picture.trace), "Trace file")
    try:
        check_size(picture.trace)
    except TooLargeError as error:
        st.caption(escaped(error))
        return
    for to in formats_of("page"):
        file_button(f"{file}.{to}", lambda to=to: export(picture, to))
