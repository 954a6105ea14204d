"""What a person can download from a page (the picture, its numbers, the trace, lines of Python) and which pages it opens."""

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import streamlit as st

from attnviz import settings
from attnviz.analysis.head_ranking import first_cell
from attnviz.analysis.head_view import HeadMatrix, HeadView
from attnviz.analysis.wording import counted, head_name
from attnviz.core.errors import TraceError
from attnviz.core.sampling import WritingOptions
from attnviz.core.trace import AttentionTrace, Kind, Prompt
from attnviz.export import FORMATS, Picture, draw_sheet, export, formats_of, grids_and_matrices, paper
from attnviz.export.paper import Sheet, side_by_side, titled
from attnviz.export.picture import Source, is_whole, other_head, part_of, parts, prompt_expression, trace_expression
from attnviz.export.picture import lines as python_lines
from attnviz.figures.explorer import TooLargeError, check_size
from attnviz.files.trace_file import open_trace, to_bytes
from attnviz.models import catalog
from attnviz.models.base import GREEDY, Architecture, ModelCard
from attnviz.models.result import Result
from attnviz.pages_and_addresses import Written
from attnviz.ui.address.address_sync import pop_state, value, visit, visit_button
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import escaped, file_uploader
from attnviz.ui.visitor_limits import check_file

_KINDS: dict[str, Callable[[Picture], Sheet]] = {
    "Matrix": grids_and_matrices.draw_matrix,
    "Arcs": grids_and_matrices.draw_arcs,
    "Text": lambda shown: paper.draw_shaded_text(shown, first_cell(shown.matrix)[0]),
    "All heads": grids_and_matrices.draw_grid,
}
_MOST_HEADS = 12
_OPTIONS = "from attnviz.models.tasks import DecodingOptions"
_DRAFT = "from attnviz.models.tasks import DecodingOptions, draft"
_READ_AS = "from attnviz.analysis.translation_alignment import read_as"


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
    """Return the download of a head of a result, and of what the page shows besides."""
    return Download(result.name, head_picture(result.trace, kind, head), source_of(result), sheets or {})


def source_of(result: Result, *, naive: bool = False) -> Source:
    """Write the Python that gives the trace of a result, with the same model, edits, options and quantity.

    `naive` rows are named after the token that is written there (`attnviz.analysis.translation_alignment.read_as`).
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
    """Say whether a translation is the one that the model gives when it is only asked for its trace."""
    return not result.draft.task_prefix and (bool(result.prompt.target) or result.options == GREEDY)


def download_button(downloads: Sequence[Download], own: Callable[[], None] = lambda: None) -> None:
    """Draw a button with all that can be had: nothing is computed before it is opened, no file before it is asked for.

    `own` draws the buttons of a page whose picture is no head.
    """
    box = st.popover("Download", icon=":material/download:", key="keep", on_change="rerun")
    if not box.open:
        return
    with box:
        own()
        if downloads:
            _downloads(downloads)


def drawing_buttons(file: str, sheet: Callable[[], Sheet], key: str = "download") -> None:
    """Draw a button for each format of drawings; `file` is the file's name without its end."""
    for to in formats_of("drawing"):
        file_button(f"{file}.{to}", lambda to=to: draw_sheet(sheet(), to), key=f"{key}_{to}")


def file_button(file: str, data: Callable[[], bytes], label: str = "", key: str = "") -> None:
    """Draw a button for a file, which is made when it is asked for; what it is follows from the end of its name."""
    to = file.rsplit(".", 1)[-1]
    media_type = FORMATS[to].media_type if to in FORMATS else "application/octet-stream"
    st.download_button(label or to.upper(), data, file, media_type, key=key or f"download_{to}", on_click="ignore")


def _downloads(downloads: Sequence[Download]) -> None:
    chosen, slot = downloads[0], 0
    if len(downloads) > 1:
        slot = st.selectbox("Drawn from", range(len(downloads)), format_func=lambda index: downloads[index].label, key="kept")
        chosen = downloads[slot]
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
    """Offer what is drawn, of which heads, and of which part of a long text. Returns the heads that are chosen."""
    whole = is_whole(picture)
    kinds = [*chosen.sheets, *(kind for kind in _KINDS if whole or kind != "All heads")]
    kind = st.segmented_control("Picture", kinds, key="keep_kind", default=next(iter(chosen.sheets), "Matrix"),
                                required=True)  # fmt: skip
    heads, named = [picture], f"{file}-{re.sub(r'[^a-z]+', '-', kind.lower())}"
    if kind in chosen.sheets:
        sheet = chosen.sheets[kind]
    elif kind == "All heads":
        sheet = lambda: grids_and_matrices.draw_grid(picture)
    else:
        heads = _heads_picker(picture) if whole else heads
        part = _part_picker(picture, kind, slot)
        named = file if kind == "Matrix" else named
        sheet = lambda: _sheet(kind, heads, part, slot)
    with st.container(horizontal=True):
        drawing_buttons(named, sheet)
    return heads


def _heads_picker(picture: Picture) -> list[Picture]:
    """Offer more heads to draw beside that of the page, which comes first."""
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
    """Offer the parts of a long text: at first the one where the page looks; None: all of it."""
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
    """Return the query that the page looks at, else that of the head's strongest link."""
    for query in (value("query"), value(f"query{slot + 1}")):
        if query in picture.matrix.rows:
            return picture.matrix.rows.index(query)
    return first_cell(picture.matrix)[0]


def _sheet(kind: str, heads: list[Picture], part: range | None, slot: int) -> Sheet:
    """Draw one picture, or several side by side with their heads' names."""
    drawn = []
    for each in heads:
        cut = part_of(each, part) if part else each
        drawn.append(paper.draw_shaded_text(cut, _row(each, slot)) if kind == "Text" else _KINDS[kind](cut))
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


# What is larger than this was not made to be looked at, and would take a server's memory.
MOST_TOKENS, MOST_HEADS = 2_048, 4_096


@dataclass(frozen=True)
class _Opened:
    """A trace out of a file, and what the page asks for as long as it is looked at."""

    trace: AttentionTrace
    file: str
    asked: tuple[str, Prompt]


def file_box() -> None:
    """Draw the box where a person chooses a trace file; what is wrong with it is said below."""
    help_ = "A file saved here, or by `attnviz.save` in Python. It is shown on Encode; no model runs for it."
    file_uploader(
        "Open a trace file", "attn", "trace_file", _take, max_upload_size=settings.limit("ATTNVIZ_FILE_MB"), help=help_
    )


def _take(chosen: Any) -> None:
    """Reads the file and makes it what the page shows."""
    check_file(chosen, settings.limit("ATTNVIZ_FILE_MB") * 2**20)
    with at_a_place():
        trace = open_trace(chosen)
    _check_size(trace, chosen.name)
    prompt = trace.prompt
    asked = trace.model, replace(prompt, question=None)
    st.session_state.update(opened=_Opened(trace, chosen.name, asked), keep=False)
    given = {name: getattr(prompt, name) for name in ("text", "pair", "target", "language")}
    visit("encode", model=trace.model, **given)


def _check_size(trace: AttentionTrace, name: str) -> None:
    for attention in trace.maps:
        tokens = max(len(attention.queries), len(attention.keys))
        if tokens > MOST_TOKENS or attention.n_layers * attention.n_heads > MOST_HEADS:
            raise TraceError(
                f"{name} has {counted(tokens, 'token')} and {counted(attention.n_layers * attention.n_heads, 'head')}; "
                f"at most {MOST_TOKENS:,} and {MOST_HEADS:,} are shown here: open it in Python, with attnviz.open."
            )


def opened_file(model: str, prompt: Prompt | None) -> Result | None:
    """Return the result that an open file holds; None once another model or text is asked for, which closes it."""
    held: _Opened | None = st.session_state.get("opened")
    if held is None:
        return None
    if (model, prompt) != held.asked:
        close()
        return None
    trace = held.trace
    facts = [f"Opened from {held.file}", *(f"{name} {version}" for name, version in trace.versions)]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f'<p class="machine">{html.escape(" · ".join(facts))}</p>')
        st.button("Close the file", key="close_file", icon=":material/close:", type="tertiary", on_click=close)
    return Result(trace, _card(trace), 0.0, name=model, file=held.file)


def close() -> None:
    """Close the file, so that the page computes for itself again; for a callback, too."""
    pop_state("opened")


def _card(trace: AttentionTrace) -> ModelCard:
    """Build a model's card from what its trace tells."""
    attention = trace.maps[-1]
    architecture: Architecture = "encoder-decoder" if "cross" in trace.kinds else "decoder" if attention.causal else "encoder"
    reads = ("pair",) if any(token.segment for token in trace.maps[0].keys) else ()
    return ModelCard(
        name=trace.model,
        task="",
        architecture=architecture,
        n_layers=attention.n_layers,
        n_heads=attention.n_heads,
        parameters=0,
        # If it was cut, it was cut here.
        max_tokens=len(trace.maps[0].keys),
        device="",
        revision=trace.revision,
        reads=reads,
    )


# The pages that read a text.
READERS = {
    "encode": "grid_on", "translate": "translate", "answer": "quiz", "summarize": "short_text", "write": "edit_note",
    "compute": "calculate",
}  # fmt: skip
SENTENCE_READERS = ("encode", "translate")
# Whose output has a number that heads can cost.
MODEL_PAGES = ("encode", "translate", "answer", "summarize")


def explain_button(
    kind: Kind, head: HeadView, matrix: HeadMatrix, cell: tuple[int, int], *,
    label: str = "Explain this cell", slot: str = "", **more: object,
) -> None:  # fmt: skip
    """Offer the way from a cell of a head's picture into Compute.

    `slot` tells several pictures of a page apart; `more` is of the address there, where it is not as the page's own.
    """
    state, (row, column) = st.session_state, cell
    address: dict[str, object] = {name: state.get(name) for name in ("model", "text", "pair", "target", "language")}
    address |= {"source": "model", "attention": kind, "layer": head.layer, "head": head.head or 0}
    address |= {"query": matrix.rows[row], "key": matrix.columns[column], "words": "true" if head.view.words else "", **more}
    visit_button(label, "compute", address, key=f"explain{slot}", icon="calculate", help="Opens it in Compute, step by step.")


def show_toolbar(
    downloads: Sequence[Download] = (), opens: str = "Opens this very picture", own: Callable[[], None] = lambda: None
) -> None:
    """Fills the toolbar at the picture with downloads and more, and draws here the buttons to other pages.

    `opens` says what the link opens: exactly this picture again, unless the page says another thing. `own` draws the download
    buttons of a page whose picture is no head.
    """
    _keep_for_home()
    with fill_toolbar(opens):
        download_button(downloads, own)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.session_state.page in MODEL_PAGES:
            _ablate_button()
            _matters_button()
        reader_buttons()


def _ablate_button() -> None:
    """Offer the way to what each head costs this output; from Translate, that of the model in the large picture."""
    given = {name: value(name) for name in ("text", "pair", "question", "passage", "target")}
    address = {"change": "head", "model": _large_model(), **given}
    help_ = "Switches every head off in turn."
    visit_button("Which heads matter here?", "whatif", address, key="to-whatif", icon="tune", help=help_)


def _matters_button() -> None:
    """Offer the way to what each word is worth to the output that stands here; from Encode, with the head that is looked at."""
    given = {"text": value("passage") or value("text"), "pair": value("question") or value("target") or value("pair")}
    if st.session_state.page == "encode" and not value("mean", False):
        given["seen"] = f"head:{value('attention', 'encoder')}:{value('layer', 0)}:{value('head', 0)}"
    address, help_ = {"model": _large_model(), **given}, "Which words the output depends on, asked in many ways."
    visit_button("Does this matter?", "matters", address, key="to-matters", icon="balance", help=help_)


def _large_model() -> str | None:
    """Return the model of the page; of several, that in the large picture."""
    models = st.session_state.get("models") or [st.session_state.get("model")]
    return models[min(value("hero", 1), len(models)) - 1]


def _keep_for_home() -> None:
    """Let Home show what was typed last on a page that reads a sentence."""
    state = st.session_state
    if state.page in SENTENCE_READERS and (text := state.address.get("text")):
        state.visits["home"] = {"text": text}


def reader_buttons(address: Mapping[str, Written] | None = None) -> None:
    """Link to what other pages make of the text that was run here, with the models that were chosen there.

    `address`: what of this page's address Encode understands as well.
    """
    state = st.session_state
    if not (text := state.get("passage") or state.get("text")):
        return
    st.caption("This text on", width="content")
    for page, icon in READERS.items():
        if page != state.page:
            there = {name: value for name, value in state.visits.get(page, {}).items() if name in ("model", "models")}
            given = {"passage" if page == "answer" else "text": text}
            given |= {"source": "model"} if page == "compute" else dict(address or {}) if page == "encode" else {}
            if page == "write" and state.get("model") in (*catalog.available_for("write"), *catalog.HUB["decoder"]):
                given["model"] = state["model"]
            visit_button(page.title(), page, there | given, key=f"to-{page}", icon=icon, type="tertiary")
