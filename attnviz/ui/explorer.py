"""Figures mounted on the page, and what a click in them does to its state."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_metrics import score
from attnviz.analysis.head_ranking import first_cell
from attnviz.analysis.head_view import HeadMatrix, HeadView, Lens, View, is_difference, word_names
from attnviz.analysis.translation_alignment import Reading
from attnviz.analysis.wording import HOW_WEIGHTS, TITLES, TRUST_WEIGHTS, counted, describe_mixing, head_name
from attnviz.core.errors import EditError
from attnviz.core.trace import AttentionMap, QueryKeyWeights
from attnviz.core.weights import QUANTITIES, Kind, Quantity
from attnviz.figures import explorer
from attnviz.files.shipped import models_with_atlas
from attnviz.models.result import Result
from attnviz.ui.address import address_sync
from attnviz.ui.background.jobs import at_a_place
from attnviz.ui.background.results import in_quantity
from attnviz.ui.download import explain_button
from attnviz.ui.edit import Editor, flip
from attnviz.ui.frame.sidebar import head_steppers
from attnviz.ui.layout import escaped, size, theme
from attnviz.ui.visitor_limits import message_bytes

_MEANING = {
    "norms": "Each number is ‖α·f(x)‖, a weight times the length of the vector that it carries, f(x) = x W_V W_O, as a share "
    "of its row (Kobayashi et al. 2020).",
    "mixing": "Each number is the length of what one token gives to another in the whole layer, all heads, residual connection "
    "and LayerNorm counted, as a share of its row (Kobayashi et al. 2021). Between two texts the residual is not in the row.",
}
_HELP = "How much a head looks, or how much it moves: a large weight on a short vector moves little."


def quantity_picker(results: Iterable[Result], sidebar: DeltaGenerator) -> Quantity:
    """Offer the quantities of the maps; weights only, where no other is known: something is edited, or comes out of a file."""
    if any(each.before or each.file for each in results):
        address_sync.publish("weighing", "weights", "weights")
        return "weights"
    return address_sync.dropdown(sidebar, "Numbers", "weighing", options=QUANTITIES, format_func=TITLES.__getitem__, help=_HELP)


def in_chosen_quantity(results: Mapping[int, Result], sidebar: DeltaGenerator) -> dict[int, Result]:
    """Return the results with the quantity that is chosen in the sidebar; with weights, where no other is known."""
    quantity = quantity_picker(results.values(), sidebar)
    return {slot: in_quantity(each, quantity) for slot, each in results.items()}


def heads_are_mixed(results: Iterable[Result]) -> bool:
    """Say whether the chosen quantity is of whole layers, so that no head can be chosen."""
    return address_sync.value("weighing", "weights") == "mixing" and not any(each.trace.edits for each in results)


def explain_quantity(result: Result, kind: Kind, layer: int) -> bool:
    """Explain what the numbers are, and how much the layer changes a token; False where they are weights."""
    if result.quantity == "weights":
        return False
    st.markdown(f"**{escaped(describe_mixing(result.mixing, kind, layer))}** {_MEANING[result.quantity]}")
    return True


_MEAN = "all_heads"
_READINGS: dict[str, Reading | None] = {"Truer": None, "Shifted": "shifted", "Naive": "naive"}
_READING_HELP = (
    "A step of a Transformer's decoder reads one word and writes the next, so a word has two rows. Shifted takes the step that "
    "reads it, when it is known (Chen et al. 2020); naive takes the step that writes it. Truer is the one whose links were "
    "measured to be nearer to an aligner's, head by head; naive where nothing was measured. Heads are ranked by the step that "
    "writes the word, unless you choose Shifted."
)


def head_picker(
    maps: Sequence[AttentionMap],
    sidebar: DeltaGenerator,
    supervised_head: tuple[int, int] | None = None,
    first: tuple[int, int] | None = None,
    *,
    pinned: bool = False,
    mixed: bool = False,
) -> tuple[int, int | None]:
    """Layer, and head or None for their mean, where a map has several; where heads are `mixed` only the layer can be chosen.

    Unasked, it is the `first` one, if there is one, else the supervised head, else the mean of the last layer. `pinned`: a
    person chose it, and it stays in the address, whichever it is.
    """
    n_layers, n_heads = max(each.n_layers for each in maps), max(each.n_heads for each in maps)
    if n_layers == n_heads == 1:
        return 0, None
    unasked = first or supervised_head
    begins = (*unasked, False) if unasked else (n_layers - 1, 0, True)
    if not pinned:
        _follow(begins)
    address_sync.restore(_MEAN, begins[2])
    mean = bool(st.session_state[_MEAN])
    layer, head = head_steppers(sidebar, begins[:2], (n_layers, n_heads), disabled=mean or mixed)
    if supervised_head and (layer, None if mean else head) != supervised_head:
        _supervised_head_button(supervised_head, sidebar)
    sidebar.toggle("Mean over heads", key=_MEAN, disabled=mixed, on_change=address_sync.pin)
    address_sync.publish(_MEAN, mean, begins[2])
    if pinned and (layer, head, mean) == begins:
        for name, chosen in ((_MEAN, mean),) if mean else (("layer", layer), ("head", head)):
            address_sync.publish(name, chosen, None)
    return layer, None if mean else head


def reading_picker(results: Iterable[Result], sidebar: DeltaGenerator) -> Reading | None:
    """Ask which of a word's two rows is its own, where a model has two; None: the truer one of each head."""
    if not any(each.draft.reads_its_rows for each in results):
        return None
    return _READINGS[
        address_sync.segments(sidebar, "Row of a word", "reading", help=_READING_HELP, on_change=address_sync.forget_cell)
    ]


def pick_head(picked: str) -> None:
    """Chooses the head of a cell that was clicked, "layer.head" or "kind.layer.head"; for a callback.

    A browser may send anything: what names no head changes nothing.
    """
    if match := re.fullmatch(r"(?:([a-z]+)\.)?(\d{1,4})\.(\d{1,4})", picked):
        kind, layer, head = match.groups()
        st.session_state.update(layer=int(layer), head=int(head), **({"attention": kind} if kind else {}))


def clicked_head(heads: Collection[tuple[Any, ...]], names: tuple[str, ...] = ("layer", "head")) -> tuple[Any, ...] | None:
    """Return the head that was clicked, or that the address names; None where it names none of `heads`."""
    place = tuple(address_sync.value(name) for name in names)
    if place not in heads:
        address_sync.forget(*names)
        return None
    for name, chosen in zip(names, place, strict=True):
        address_sync.publish(name, chosen, None)
    return place


def choose_head(layer: int, head: int | None) -> None:
    """Makes a head, or with None the mean of its layer, the one that is drawn, with its own strongest link; for a callback."""
    change_head(layer, head)
    address_sync.forget_cell()


def change_head(layer: int, head: int | None) -> None:
    """Choose a head in the same way, but keep the link that is looked at; for a callback."""
    st.session_state.update({"layer": layer, "head": head or 0, _MEAN: head is None})
    address_sync.pin()


def _supervised_head_button(supervised_head: tuple[int, int], sidebar: DeltaGenerator) -> None:
    """Draw the button that opens the supervised head."""
    sidebar.button(
        f"Show {head_name(*supervised_head)}, trained to align",
        key="supervised_head",
        icon=":material/school:",
        on_click=choose_head,
        args=supervised_head,
        width="stretch",
        help="The one head that was taught where to look, by a statistical aligner's links (Garg et al. 2019).",
    )


def _follow(first: tuple[int, int, bool]) -> None:
    """Reset an untouched head choice to the new model's default."""
    state = st.session_state
    names = ("layer", "head", _MEAN)
    if tuple(state.get(name) for name in names) == state.get("first_head") != first:
        state.update(zip(names, first, strict=True))
    state.first_head = first


_HOW_OF_ITS_OWN = """
Every query is scored against every key, and a softmax turns each row of scores into shares that sum to 1. This model computes
its scores in a way of its own, and its weights are shown as it gives them.
"""


def explain_weight(attention: AttentionMap, matrix: HeadMatrix, looked_at: HeadView, cell: tuple[int, int]) -> None:
    """Explain a weight by its formula and numbers; in words, where the model keeps its queries and keys to itself."""
    if looked_at.head is not None:
        explain_button(attention.kind, looked_at, matrix, cell)
    if not isinstance(attention.store, QueryKeyWeights):
        st.expander("How this number comes about").markdown(_HOW_OF_ITS_OWN)
        return
    title, how = HOW_WEIGHTS
    with st.expander(title):
        st.markdown(how)
        st.latex(r"\mathrm{weight}(q, k) = \frac{e^{\,q \cdot k / \sqrt{d}}}{\sum_{j} e^{\,q \cdot k_j / \sqrt{d}}}")
        if looked_at.head is None or looked_at.view.words:
            st.caption("Choose one head, without merging subwords, to see the numbers of a link here.")
            return
        if not matrix.visible[cell]:
            st.caption("This cell is masked: its score counts as minus infinity, so its weight is exactly 0.")
            return
        query, key = matrix.rows[cell[0]], matrix.columns[cell[1]]
        parts = score(attention, layer=looked_at.layer, head=looked_at.head, query=query, key=key)
        if parts is None:
            st.caption("This model adds terms of its own to its scores; its weights are shown as it gives them.")
            return
        st.latex(
            rf"q \cdot k = {parts.product:.2f}, \qquad {parts.product:.2f} \times {parts.scaling:.4f} = {parts.scaled:.2f}, "
            rf"\qquad \mathrm{{softmax}} \to {parts.weight:.4f} \qquad (d = {parts.dim})"
        )


def explain_trust() -> None:
    """Explain what attention shows, and what it does not."""
    with st.expander("How much to trust this"):
        st.markdown(TRUST_WEIGHTS)


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
LONG_SECONDS = 2  # from which on a page says what it does
VIEWS = ("grid", "matrix", "arcs", "text")


def open_head(layer: int, head: int | None) -> None:
    """Makes a head the one that is looked at, with its own strongest link."""
    st.session_state.update(layer=layer, head=head or 0, mean=head is None)
    address_sync.forget_cell()


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
    becomes `query` and `key` of the session, which `chosen_link` reads; `cell` is the one that the page's own picture has
    chosen, None: the head's most telling one. `slot` ("1", "2", …) ends these names; `editing` as of `explore`.

    Raises:
        TraceError: the view leaves no token.
    """
    folded = address_sync.fold(label, f"all{slot}", ":material/grid_on:")
    link = (None, None) if cell else address_sync.chosen_link((len(attention.queries), len(attention.keys)), slot)
    if folded.open:
        with folded:
            matrix = head.matrix(attention)
            at = cell or address_sync.selected_cell(matrix, link) or first_cell(matrix)
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


def show_words(attention: AttentionMap, head: HeadView, question: address_sync.WordQuestion) -> None:
    """Draw the text as words to click, all heads, and beside them, where there is room, the one that is looked at."""
    matrix = head.matrix(attention)
    cell = question.cell(matrix)
    note_picture(ShownHead(attention, head, matrix, cell))
    settings: dict[str, object] = {"shownViews": VIEWS[:2], "view": "grid", "isPlain": True}
    settings |= {"query": cell[0], "key": cell[1], "words": question.settings(matrix), "fact": ""}
    _mount(attention, head, matrix, settings, ("", _take_words), question)


def _take_words(change: dict[str, Any]) -> None:
    """Take over which words, and which head, were clicked; for a callback."""
    if change.get("unpin"):
        address_sync.unpin()
    if "layer" in change:
        address_sync.pin(change["layer"], change["head"])
    if "chosen" in change:
        address_sync.take(change["chosen"])


def show_heads(attention: AttentionMap, head: HeadView, on_head: OnHead, *, slot: str = "") -> None:
    """Draw all heads as small pictures, and nothing else; `on_head` is called with the layer and the head that are clicked."""

    def picked(change: dict[str, Any]) -> None:
        if "layer" in change:
            on_head(change["layer"], change["head"])

    _mount(attention, head, None, {"shownViews": ("grid",), "view": "grid"}, (slot, picked))


def show_matrix(
    picture: ShownHead, on_cell: Callable[[int, int], None], *, hidden_rows: Sequence[int] = (), slot: str = ""
) -> None:
    """Draw one head at full size, and nothing else; `on_cell` is called with the row and the column that are clicked.

    hidden_rows  those whose weights are not told before a question is answered
    """
    (query, key), rows, columns = picture.cell, picture.matrix.rows, picture.matrix.columns

    def picked(change: dict[str, Any]) -> None:
        at = change.get("chosen", {})
        if at.get("query") in rows and at.get("key") in columns:
            on_cell(rows.index(at["query"]), columns.index(at["key"]))

    shown: dict[str, object] = {"shownViews": ("matrix",), "view": "matrix", "hiddenRows": hidden_rows}
    settings = shown | {"query": query, "key": key}
    _mount(picture.attention, picture.head, picture.matrix, settings, (slot, picked))


def explore(
    picture: ShownHead,
    *,
    extra: tuple[str, ...] = (),
    slot: str = "",
    on_head: OnHead | None = None,
    question: address_sync.WordQuestion | None = None,
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
    wanted = address_sync.one_shown(name, (*VIEWS, *extra), VIEWS[0])
    # Of a difference there are no arcs and no shaded text.
    views, extra = (VIEWS[:2], ()) if is_difference(attention) else (VIEWS, extra)
    view = wanted if wanted in (*views, *extra) else VIEWS[0]

    # Streamlit keeps the callback of a visit that has left for a while: it holds places and names, and no map.
    places = places_of(attention, picture.head.view)
    is_asked, edited = question is not None, editing.slot if editing else None

    def picked(change: dict[str, Any]) -> None:
        if change.get("view", view) != view:
            st.session_state[name] = change["view"]
        if is_asked:
            _take_words(change)
        elif "layer" in change and on_head:
            on_head(change["layer"], change["head"])
        if not is_asked and "chosen" in change:
            address_sync.take(change["chosen"], slot)
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
    question: address_sync.WordQuestion | None = None,
) -> None:
    """`matrix`: the head in view, where it is to be seen at full size; `place`: the slot, and what is called on a click.

    How the map is looked at (the order of the heads, the part of the matrix, …) is the explorer's own, and is kept as it says.
    """
    slot, picked = place
    key, look, seq, wanted = (f"{name}{slot}" for name in ("explorer", "look", "seq", "wanted"))
    shown = _overview(attention, head.view, 0 if matrix is None else message_bytes())
    name = shown.name

    def pick() -> None:
        change = address_sync.sent(key, "picked") or {}
        st.session_state.update({look: str(change.get("look", ""))[:LOOK_CHARACTERS], seq: change.get("seq", 0)})
        # A click on the map before this one means nothing here.
        if change.get("of") == name:
            picked(change)

    def want() -> None:
        st.session_state[wanted] = address_sync.sent(key, "wanted")

    settings |= {"layer": head.layer, "head": head.head, "fullScale": head.full_scale, "theme": theme().name}
    looked: str = st.session_state.get(look, address_sync.url_value(look, ""))
    address_sync.publish(look, looked, "")
    settings |= {"look": looked, "seq": st.session_state.get(seq, 0)}
    heads: dict[tuple[int, int | None], HeadMatrix | None] = {}
    if matrix is not None:
        missing = address_sync.pop_state(wanted) or {}
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
        heads = attention.n_layers * attention.n_heads
        expected = heads * len(attention.queries) * len(attention.keys) / CELLS_A_SECOND
        sentence = f"Measuring {counted(heads, 'head')} over {counted(len(attention.queries), 'token')}"
        with at_a_place(expected), st.spinner(sentence) if expected > LONG_SECONDS else nullcontext():
            ways[view, limit] = explorer.overview(attention, view=view, limit=limit)
    return ways[view, limit]


def show_bertviz(attention: AttentionMap, head: HeadView) -> None:
    """BertViz's own head view or model view, without its network."""
    from attnviz.figures import bertviz_views as bertviz

    kind = address_sync.segments(st.container(), "BertViz", "bertviz", label_visibility="collapsed")
    try:
        if kind == "Head view":
            page = bertviz.head_view(attention, layer=head.layer, view=head.view, theme=theme())
        else:
            page = bertviz.model_view(attention, view=head.view, theme=theme())
    except bertviz.TooManyTokensError as error:
        st.info(escaped(error), icon=":material/grid_view:")
        return
    _FRAME(key="bertviz-frame", data=[page])


def show_head_label(result: Result, attention: AttentionMap, head: HeadView) -> None:
    """Say in one line what the head does over many sentences, and link to the evidence on Heads, where there is an atlas.

    None of a mean, of a file, or of a map that no atlas is about.
    """
    model = result.trace.model
    # An atlas is about how a text looks at itself.
    if head.head is None or result.file or attention.kind == "cross" or attention is not result.trace.maps[0]:
        return
    if model not in models_with_atlas():
        return
    from attnviz.analysis.heads.atlas import shipped_atlas
    from attnviz.analysis.heads.verdict import describe_label

    atlas = shipped_atlas(model)
    if (attention.n_layers, attention.n_heads) != atlas.shape:
        return
    label, address = describe_label(atlas, head.layer, head.head), {"model": model, "layer": head.layer, "head": head.head}
    help_ = "Opens What heads do, with the measurements behind this sentence."
    address_sync.visit_button(label, "heads", address, key="head-label", icon="manage_search", help=help_, type="tertiary")
