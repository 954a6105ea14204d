"""Figures mounted on the page, and what a click in them does to its state."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.view import HeadMatrix, View
from attnviz.figures import bertviz, explorer
from attnviz.figures.tokens import token_strip
from attnviz.trace import AttentionMap
from attnviz.ui.controls import Choice
from attnviz.ui.layout import size, theme
from attnviz.ui.settings import message_bytes
from attnviz.ui.state import forget_cell, publish

_EXPLORER = component(
    "attnviz.explorer", html='<div class="explorer"></div>', css=explorer.STYLE, js=explorer.script("streamlit")
)
_OVERVIEWS: WeakKeyDictionary[AttentionMap, dict[tuple[View, int], explorer.Overview]] = WeakKeyDictionary()
VIEWS = ("grid", "matrix", "arcs", "text")
PLOTLY = {"displaylogo": False, "modeBarButtonsToRemove": ["pan2d", "select2d", "lasso2d", "autoScale2d"]}


def open_head(layer: int, head: int | None) -> None:
    """Makes a head the one that is looked at, with its own strongest link."""
    st.session_state.update(layer=layer, head=head or 0, mean=head is None)
    forget_cell()


def show_heads(attention: AttentionMap, choice: Choice, on_pick: Callable[[int, int | None], None]) -> None:
    """All heads as small pictures, and nothing else; `on_pick` is called with the layer and the head that are clicked."""

    def picked() -> None:
        if "layer" in (change := st.session_state.explorer.picked or {}):
            on_pick(change["layer"], change["head"])

    _mount(_overview(attention, choice.view, 0), choice, ("grid",), {"view": "grid"}, picked)


def explore(
    attention: AttentionMap, choice: Choice, matrix: HeadMatrix, cell: tuple[int, int], *, extra: tuple[str, ...] = ()
) -> str:
    """The explorer: all heads, and `matrix` with its chosen cell. What a person chooses in it becomes the page's.

    Returns the view that is shown: one of `VIEWS`, or of `extra`, which are tabs whose picture the page draws below.
    """
    view = st.session_state.get("view", st.query_params.get("view"))
    view = view if view in (*VIEWS, *extra) else VIEWS[0]
    publish("view", view, VIEWS[0])

    def picked() -> None:
        change = st.session_state.explorer.picked or {}
        st.session_state.update(view=change.get("view", view), explorer_seq=change.get("seq", 0))
        if "layer" in change:
            open_head(change["layer"], change["head"])
        if "query" in change:
            st.session_state.update(query=matrix.rows[change["query"]], key=matrix.columns[change["key"]])

    settings = {
        "view": view,
        "query": cell[0],
        "key": cell[1],
        "seq": st.session_state.get("explorer_seq", 0),
        "extra": extra,
        "fact": size(attention),
    }
    _mount(_overview(attention, choice.view, message_bytes()), choice, VIEWS, settings, picked)
    return view


def _mount(
    shown: explorer.Overview, choice: Choice, views: tuple[str, ...], settings: dict[str, object], picked: Callable[[], None]
) -> None:
    def want() -> None:
        st.session_state.wanted = st.session_state.explorer.wanted

    look = {"layer": choice.layer, "head": choice.head, "fullScale": choice.full_scale, "theme": theme().name}
    wanted = [(int(layer), head) for layer, head in st.session_state.pop("wanted", None) or ()]
    heads = dict.fromkeys([(choice.layer, choice.head), *wanted])
    package = explorer.heads_package(shown, heads if len(views) > 1 else (), shownViews=views, **look, **settings)
    with st.container(gap=None):
        # Streamlit sends a message again only when it has changed: the overview, when text, model or view of tokens do.
        _EXPLORER(key="overview", data=shown.data)
        _EXPLORER(key="explorer", data=package, on_picked_change=picked, on_wanted_change=want)


def _overview(attention: AttentionMap, view: View, limit: int) -> explorer.Overview:
    """The overview of a map is made once for each way to see its tokens, and kept as long as the map is."""
    ways = _OVERVIEWS.setdefault(attention, {})
    if (view, limit) not in ways:
        ways[view, limit] = explorer.overview(attention, view=view, limit=limit)
    return ways[view, limit]


def show_tokens(matrix: HeadMatrix, query: int) -> None:
    """The sentence, shaded by what one query gives to each token."""
    st.html(token_strip(matrix, query=query, theme=theme()))


def show_bertviz(attention: AttentionMap, choice: Choice) -> None:
    """BertViz's own head view or model view, without its network."""
    kind = st.segmented_control(
        "BertViz",
        ["Head view", "Model view"],
        default="Head view",
        key="bertviz",
        required=True,
        bind="query-params",
        label_visibility="collapsed",
    )
    try:
        if kind == "Head view":
            page = bertviz.head_view(attention, layer=choice.layer, view=choice.view, theme=theme())
        else:
            page = bertviz.model_view(attention, view=choice.view, theme=theme())
    except bertviz.TooManyTokensError as error:
        st.info(str(error), icon=":material/grid_view:")
        return
    st.iframe(page, height=700)


def selected_cell(matrix: HeadMatrix, slot: str = "") -> tuple[int, int] | None:
    """The chosen (row, column) of this matrix, clicked or from the address, kept in the address; None if it shows no such.

    `slot` tells several pictures of a page apart.
    """
    names = f"query{slot}", f"key{slot}"
    query, key = (st.session_state.get(name, st.query_params.get(name)) for name in names)
    try:
        cell = matrix.rows.index(int(query)), matrix.columns.index(int(key))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return None
    st.query_params.update(dict(zip(names, (str(query), str(key)), strict=True)))
    return cell
