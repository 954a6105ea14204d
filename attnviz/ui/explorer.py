"""Figures mounted on the page, and what a click in them does to its state."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.difference import is_difference
from attnviz.analysis.head_view import HeadMatrix, HeadView, Lens, View
from attnviz.analysis.token_words import word_names
from attnviz.analysis.word_links import first_cell
from attnviz.core.errors import EditError
from attnviz.core.trace import AttentionMap
from attnviz.figures import bertviz_views as bertviz
from attnviz.figures import explorer
from attnviz.ui.address import widgets
from attnviz.ui.address.address_sync import forget_cell, publish, select_cell, selected_cell, url_value
from attnviz.ui.address.widgets import WordQuestion, fold, one_shown, segments, sent
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.edit import Editor, flip
from attnviz.ui.layout import size, theme
from attnviz.ui.markup import escaped
from attnviz.ui.visitor_limits import message_bytes

_EXPLORER = component(
    "attnviz.explorer", html='<div class="explorer"></div>', css=explorer.STYLE, js=explorer.script("streamlit")
)
_OVERVIEWS: WeakKeyDictionary[AttentionMap, dict[tuple[View, int], explorer.Overview]] = WeakKeyDictionary()
# Scripts run in it, but as those of a stranger: Streamlit's own frame would let them into the page and what it keeps.
_FRAME = component(
    "attnviz.frame",
    html='<iframe title="BertViz" sandbox="allow-scripts"></iframe>',
    css="iframe { display: block; width: 100%; height: 700px; border: 0; }",
    js="""export default ({ data: [page], parentElement }) => {
      const frame = parentElement.querySelector("iframe");
      if (frame.srcdoc !== page) frame.srcdoc = page;
    }""",
)
OnHead = Callable[[int, int | None], None]


@dataclass(frozen=True)
class ShownHead:
    """A head of a map, as it is drawn: its matrix, and the cell of that which is chosen, by row and column."""

    attention: AttentionMap
    head: HeadView
    matrix: HeadMatrix
    cell: tuple[int, int]


# What the explorer says of how it is looked at is never longer.
LOOK_CHARACTERS = 600
CELLS_A_SECOND = 4e7  # that a small server measures and draws, of all heads
VIEWS = ("grid", "matrix", "arcs", "text")


def open_head(layer: int, head: int | None) -> None:
    """Makes a head the one that is looked at, with its own strongest link."""
    st.session_state.update(layer=layer, head=head or 0, mean=head is None)
    forget_cell()


def all_heads(
    attention: AttentionMap,
    head: HeadView,
    on_head: OnHead,
    *,
    cell: tuple[int, int] | None = None,
    slot: str = "",
    label: str = "All heads, any of them at full size",
    editing: Editor | None = None,
) -> None:
    """Draw every head of a map in the explorer, folded until somebody opens it; for pages whose main picture is another one.

    A head that is clicked is given to `on_head(layer, head)`, `head` None for the mean of the layer. A cell that is clicked
    becomes `query` and `key` of the session, which `selected_cell` reads; `cell` is the one that the page's own picture has
    chosen, None: the head's most telling one. `slot` ("1", "2", …) ends these names; `editing` as of `explore`.

    Raises:
        TraceError: the view leaves no token.
    """
    folded = fold(label, f"all{slot}", ":material/grid_on:")
    if folded.open:
        with folded:
            matrix = head.matrix(attention)
            at = cell or selected_cell(matrix, slot) or first_cell(matrix)
            explore(ShownHead(attention, head, matrix, at), slot=slot, on_head=on_head, editing=editing)


def note_picture(picture: ShownHead, *, slot: str = "", first_row: int = 0) -> None:
    """Notes which head and which cell the page shows, for whoever asks about its picture: the address may leave them to it.

    `first_row`: where the picture's first row stands among the positions that an address counts.
    """
    (row, column), matrix = picture.cell, picture.matrix
    place = {"layer": str(picture.head.layer)} | ({} if picture.head.head is None else {"head": str(picture.head.head)})
    place |= {f"query{slot}": str(matrix.rows[row] + first_row), f"key{slot}": str(matrix.columns[column])}
    names = word_names(matrix.queries)[row], word_names(matrix.keys)[column]
    st.session_state.shown_picture = (st.session_state.page, place, names)


def show_words(attention: AttentionMap, head: HeadView, question: WordQuestion) -> None:
    """Draw the text as words to click, all heads, and beside them, where there is room, the one that is looked at."""
    matrix = head.matrix(attention)
    cell, places = question.cell(matrix), (matrix.rows, matrix.columns)
    note_picture(ShownHead(attention, head, matrix, cell))
    settings: dict[str, object] = {"shownViews": VIEWS[:2], "view": "grid", "isPlain": True}
    settings |= {"query": cell[0], "key": cell[1], "words": question.settings(matrix), "fact": ""}
    _mount(attention, head, matrix, settings, ("", partial(_take_words, places)), question)


def _take_words(places: tuple[tuple[int, ...], tuple[int, ...]], change: dict[str, Any]) -> None:
    """Take over which words, and which head, were clicked; for a callback."""
    if change.get("unpin"):
        widgets.unpin()
    if "layer" in change:
        widgets.pin(change["layer"], change["head"])
    if "query" in change:
        widgets.take(places, change)


def show_heads(attention: AttentionMap, head: HeadView, on_head: OnHead, *, slot: str = "") -> None:
    """Draw all heads as small pictures, and nothing else; `on_head` is called with the layer and the head that are clicked."""

    def picked(change: dict[str, Any]) -> None:
        if "layer" in change:
            on_head(change["layer"], change["head"])

    _mount(attention, head, None, {"shownViews": ("grid",), "view": "grid"}, (slot, picked))


def show_matrix(picture: ShownHead, on_cell: Callable[[int, int], None], *, slot: str = "") -> None:
    """Draw one head at full size, and nothing else; `on_cell` is called with the row and the column that are clicked."""

    def picked(change: dict[str, Any]) -> None:
        if "query" in change:
            on_cell(change["query"], change["key"])

    query, key = picture.cell
    settings: dict[str, object] = {"shownViews": ("matrix",), "view": "matrix", "query": query, "key": key}
    _mount(picture.attention, picture.head, picture.matrix, settings, (slot, picked))


def explore(
    picture: ShownHead,
    *,
    extra: tuple[str, ...] = (),
    slot: str = "",
    on_head: OnHead | None = None,
    question: WordQuestion | None = None,
    editing: Editor | None = None,
) -> str:
    """Draw the explorer: all heads, and the matrix of one with its chosen cell. What a person chooses in it becomes the page's.

    `question`: what is asked of the map by words; None: a click on a word is one on the cell of its strongest link, and a head
    that is clicked is given to `on_head`.

    `editing`: whose edits are marked in it, and made by clicks; None: of a model that cannot be edited here. `slot` tells
    several explorers of a page apart. Returns the view that is shown: one of `VIEWS`, or of `extra`, tabs whose picture the
    page draws below.
    """
    name, attention, matrix = f"view{slot}", picture.attention, picture.matrix
    if question is not None:
        note_picture(picture)
    wanted = one_shown(name, (*VIEWS, *extra), VIEWS[0])
    # Of a difference there are no arcs and no shaded text.
    views, extra = (VIEWS[:2], ()) if is_difference(attention) else (VIEWS, extra)
    view = wanted if wanted in (*views, *extra) else VIEWS[0]

    # Streamlit keeps the callback of a visit that has left for a while: it holds places and names, and no map.
    places, rows, columns = places_of(attention, picture.head.view), matrix.rows, matrix.columns
    is_asked, edited = question is not None, editing.slot if editing else None

    def picked(change: dict[str, Any]) -> None:
        if change.get("view", view) != view:
            st.session_state[name] = change["view"]
        if is_asked:
            _take_words((rows, columns), change)
        elif "layer" in change and on_head:
            on_head(change["layer"], change["head"])
        if not is_asked and "query" in change:
            select_cell(rows[change["query"]], columns[change["key"]], slot)
        if edited is not None:
            _edit(edited, places, change)

    query, key = picture.cell
    settings = {"shownViews": views, "view": view, "query": query, "key": key, "extra": extra, "fact": size(attention)}
    settings["words"] = question and question.settings(matrix)
    if editing is not None:
        is_marked = editing.applied and editing.compared != "Before"
        settings["edits"] = {"on": editing.on} | (places.marks(editing.edits) if is_marked else {})
    _mount(attention, picture.head, matrix, settings, (slot, picked), question)
    return view


def places_of(attention: AttentionMap, view: View) -> explorer.PicturePlaces:
    """Find where the rows and columns of a picture stand in the map: what its clicks, and the buttons beside it, edit."""
    return explorer.PicturePlaces.of(attention, Lens(attention, view))


def _edit(slot: str, places: explorer.PicturePlaces, change: dict[str, Any]) -> None:
    """Apply a click to the Edit mode, or in it to the model's attention; for a callback."""
    if "editing" in change:
        st.session_state.editing = bool(change["editing"])
    try:
        if isinstance(click := change.get("edit"), dict):
            flip(*places.edits_of(click), slot=slot)
    except EditError as error:
        st.session_state[f"refused_edit{slot}"] = str(error)


def _mount(
    attention: AttentionMap,
    head: HeadView,
    matrix: HeadMatrix | None,
    settings: dict[str, object],
    place: tuple[str, Callable[[dict[str, Any]], None]],
    question: WordQuestion | None = None,
) -> None:
    """`matrix`: the head in view, where it is to be seen at full size; `place`: the slot, and what is called on a click.

    How the map is looked at (the order of the heads, the part of the matrix, …) is the explorer's own, and is kept as it says.
    """
    slot, picked = place
    key, look, seq, wanted = (f"{name}{slot}" for name in ("explorer", "look", "seq", "wanted"))
    shown = _overview(attention, head.view, 0 if matrix is None else message_bytes())
    name = shown.name

    def pick() -> None:
        change = sent(key, "picked") or {}
        st.session_state.update({look: str(change.get("look", ""))[:LOOK_CHARACTERS], seq: change.get("seq", 0)})
        # A click on the map before this one means nothing here.
        if change.get("of") == name:
            picked(change)

    def want() -> None:
        st.session_state[wanted] = sent(key, "wanted")

    settings |= {"layer": head.layer, "head": head.head, "fullScale": head.full_scale, "theme": theme().name}
    looked: str = st.session_state.get(look, url_value(look, ""))
    publish(look, looked, "")
    settings |= {"look": looked, "seq": st.session_state.get(seq, 0)}
    heads: dict[tuple[int, int | None], HeadMatrix | None] = {}
    if matrix is not None:
        missing = st.session_state.pop(wanted, None) or {}
        heads = {(int(layer), head): None for layer, head in missing.get("heads", ()) if missing["of"] == name}
        heads[head.layer, head.head] = matrix
    table = question.table(attention, matrix) if question and matrix and not shown.complete else None
    package = explorer.heads_package(shown, attention, heads, table, **settings)
    with st.container(gap=None):
        # Streamlit sends a message again only when it has changed: the overview, when text, model or view of tokens do.
        _EXPLORER(key=f"overview{slot}", data=shown.data)
        _EXPLORER(key=key, data=package, on_picked_change=pick, on_wanted_change=want)


def _overview(attention: AttentionMap, view: View, limit: int) -> explorer.Overview:
    """Make the overview of a map once for each way to see its tokens, and keep it as long as the map is."""
    ways = _OVERVIEWS.setdefault(attention, {})
    if (view, limit) not in ways:
        cells = attention.n_layers * attention.n_heads * len(attention.queries) * len(attention.keys)
        with at_a_place(cells / CELLS_A_SECOND):
            ways[view, limit] = explorer.overview(attention, view=view, limit=limit)
    return ways[view, limit]


def show_bertviz(attention: AttentionMap, head: HeadView) -> None:
    """BertViz's own head view or model view, without its network."""
    kind = segments(st.container(), "BertViz", "bertviz", label_visibility="collapsed")
    try:
        if kind == "Head view":
            page = bertviz.head_view(attention, layer=head.layer, view=head.view, theme=theme())
        else:
            page = bertviz.model_view(attention, view=head.view, theme=theme())
    except bertviz.TooManyTokensError as error:
        st.info(escaped(error), icon=":material/grid_view:")
        return
    _FRAME(key="bertviz-frame", data=[page])
