"""The cell of a picture that is chosen: clicked, or in the address."""

import re
from collections.abc import Callable

import streamlit as st

from attnviz.analysis.head_view import HeadMatrix
from attnviz.ui.address.address_sync import publish, value


def picked_cell(picked: str) -> tuple[int, int] | None:
    """Reads "3.1", which a browser has sent, as two numbers: a layer and a head, or a row and a column; None: it is none.

    >>> picked_cell("3.1"), picked_cell("3.x")
    ((3, 1), None)
    """
    match = re.fullmatch(r"(\d{1,4})\.(\d{1,4})", picked)
    return (int(match[1]), int(match[2])) if match else None


def select_cell(query: int, key: int, slot: int | str = "") -> None:
    """Makes a cell, by its positions in the map, the chosen one; for a callback.

    Streamlit keeps the callback of every figure that a visit has seen: it should hold these numbers, and not the matrix.
    """
    st.session_state.update({f"query{slot}": query, f"key{slot}": key})


def cell_picker(matrix: HeadMatrix, slot: int | str = "") -> Callable[[str], None]:
    """What a click on a cell of a matrix, which sends "row.column", does: that cell is chosen."""
    rows, columns = matrix.rows, matrix.columns

    def pick(picked: str) -> None:
        if (at := picked_cell(picked)) and at[0] < len(rows) and at[1] < len(columns):
            select_cell(rows[at[0]], columns[at[1]], slot)

    return pick


def selected_cell(matrix: HeadMatrix, slot: str = "") -> tuple[int, int] | None:
    """The chosen (row, column) of this matrix, clicked or from the address, kept in the address; None if it shows no such.

    `slot` tells several pictures of a page apart.
    """
    names = f"query{slot}", f"key{slot}"
    query, key = (value(name) for name in names)
    if query is None or key is None:
        return None
    # One that this view hides stays chosen: what the address said before it does not come back.
    for name, place in zip(names, (query, key), strict=True):
        publish(name, place, None)
    if query not in matrix.rows or key not in matrix.columns:
        return None
    return matrix.rows.index(query), matrix.columns.index(key)
