"""Figures mounted on the page, and what a click in them does to its state."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

import streamlit as st
from streamlit.components.v2 import component

from attnviz.analysis.view import HeadMatrix, View
from attnviz.figures import bertviz, grid
from attnviz.figures.heatmap import Look, draw_matrix
from attnviz.figures.tokens import token_strip
from attnviz.trace import AttentionMap
from attnviz.ui.controls import Choice
from attnviz.ui.layout import theme
from attnviz.ui.state import forget_cell

_GRID = component(
    "attnviz.grid",
    html='<div class="grid"><canvas tabindex="0" role="application"></canvas><div class="note" hidden></div></div>',
    css=grid.STYLE,
    js=grid.SCRIPT,
)
_PAINTED: WeakKeyDictionary[AttentionMap, dict[tuple[View, bool], grid.Painted]] = WeakKeyDictionary()
PLOTLY = {"displaylogo": False, "modeBarButtonsToRemove": ["pan2d", "select2d", "lasso2d", "autoScale2d"]}


def open_head(layer: int, head: int) -> None:
    """Makes a head the one that is looked at, with its own strongest link."""
    st.session_state.update(layer=layer, head=head, mean=False)
    forget_cell()


def show_grid(attention: AttentionMap, choice: Choice, on_pick: Callable[[int, int], None] = open_head) -> None:
    """All heads, layers down and heads across; `on_pick` is called with the layer and the head that are clicked."""

    def picked() -> None:
        if (cell := st.session_state.grid.picked) is not None:
            on_pick(int(cell[0]), int(cell[1]))

    painted = _painted(attention, choice)
    data = grid.grid_bytes(painted, theme=theme(), selected=(choice.layer, choice.head))
    _GRID(key="grid", data=data, on_picked_change=picked)


def _painted(attention: AttentionMap, choice: Choice) -> grid.Painted:
    """The pictures of a map are made once for each way to see them, and kept as long as the map is."""
    ways = _PAINTED.setdefault(attention, {})
    way = (choice.view, choice.full_scale)
    if way not in ways:
        ways[way] = grid.paint(attention, view=choice.view, full_scale=choice.full_scale)
    return ways[way]


def show_heatmap(matrix: HeadMatrix, choice: Choice, cell: tuple[int, int], *, alt: str, height: int) -> None:
    """One head; a click on a cell selects its row and its column."""

    def select() -> None:
        points = st.session_state.heatmap.selection.points
        if points:
            row, column = int(points[0]["y"]), int(points[0]["x"])
            st.session_state.update(query=matrix.rows[row], key=matrix.columns[column])

    figure = draw_matrix(matrix, Look(theme(), choice.full_scale, cell, height))
    st.plotly_chart(figure, theme=None, key="heatmap", on_select=select, selection_mode="points", config=PLOTLY, alt=alt)


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
