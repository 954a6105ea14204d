"""What is asked of a map by words: which look, at which, in which head; clicked, in the address, or chosen by the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from attnviz.analysis.first_word import first_link
from attnviz.analysis.head_view import HeadMatrix, View
from attnviz.analysis.word_links import Place, WordLinks
from attnviz.core.trace import AttentionMap
from attnviz.ui.address.address_sync import forget, publish, url_value, value

HOW = "Click a word to see where it looks. Click another to link the two."
# A position that looks, and one that is looked at.
Link = tuple[int | None, int | None]
_PARAMETERS = ("query", "key", "queries", "keys")
# What was computed of a map is kept as long as the map is.
_KEPT: WeakKeyDictionary[AttentionMap, dict[object, np.ndarray]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class WordQuestion:
    """Words of a map that look, those they look at, and the head that is looked at.

    queries, keys  indices of words of `links`; no keys: there is nothing to look at
    place          layer and head, None: the mean over its heads
    is_asked, is_link, is_pinned  whether a person chose who looks, who is looked at, and the head
    """

    links: WordLinks
    queries: tuple[int, ...]
    keys: tuple[int, ...]
    place: Place
    is_asked: bool
    is_link: bool
    is_pinned: bool

    def cell(self, matrix: HeadMatrix) -> tuple[int, int]:
        """The cell of a picture of the head that stands for the link: the token that was clicked, else a word's strongest."""
        rows = _rows_of(matrix.rows, self.links.lens.row_parts[self.queries[0]], value("query"))
        row = rows[0] if rows else 0
        columns = _rows_of(matrix.columns, self.links.lens.column_parts[self.keys[0]], value("key")) if self.keys else []
        columns = columns or range(len(matrix.columns))
        return row, max(columns, key=lambda column: float(matrix.weights[row, column]))

    def settings(self, matrix: HeadMatrix) -> dict[str, object]:
        """What the explorer is told of it, by rows and columns of its picture."""
        rows = [_rows_of(matrix.rows, self.links.lens.row_parts[word]) for word in self.queries[1:]]
        columns = [_rows_of(matrix.columns, self.links.lens.column_parts[word]) for word in self.keys[1:]]
        return {
            "isAsked": self.is_asked,
            "isLink": self.is_link,
            "isPinned": self.is_pinned,
            "queries": [each[0] for each in rows if each],
            "keys": [each[0] for each in columns if each],
        }

    def table(self, attention: AttentionMap, matrix: HeadMatrix) -> tuple[str, np.ndarray]:
        """What the words give to every word in all heads, for a browser that does not have these; and what it calls that."""
        links = _links(attention, self.links.lens.view)
        rows = [_rows_of(matrix.rows, links.lens.row_parts[word])[0] for word in self.queries]
        return f"row:{'-'.join(map(str, rows))}", np.mean([links.row(word) for word in self.queries], axis=0)


def ask(attention: AttentionMap, view: View, first: tuple[int, int], unasked: Link = (None, None)) -> WordQuestion:
    """What is asked of a map; `first`: the head of an address that names only half of one.

    `unasked`: the position that looks, and the one that it looks at, where none was chosen; None: those of the clearest link.

    Raises:
        TraceError: the view leaves no token.
    """
    links = _links(attention, view)
    asked = {name: value(name) for name in _PARAMETERS}
    for name, chosen in asked.items():
        publish(name, chosen, None)
    query_place, key_place = unasked if asked["query"] is None else (asked["query"], asked["key"])
    query = links.query_at(query_place)
    key = None if query is None else links.key_at(key_place)
    place = pinned_place(first, (attention.n_layers, attention.n_heads))
    link = first_link(links, place, query=query, key=key)
    queries = _with_more(link.query, links.query_at, asked["queries"] if asked["query"] is not None else "")
    keys = _with_more(link.key, links.key_at, asked["keys"] if asked["key"] is not None and key is not None else "")
    shown = place or (link.layer, link.head)
    if place is None and len(queries) + len(keys) > 2:
        shown = links.strongest_head(queries, keys)
    return WordQuestion(links, queries, keys, shown, query is not None, key is not None, place is not None)


def _links(attention: AttentionMap, view: View) -> WordLinks:
    return WordLinks(attention, view, _KEPT.setdefault(attention, {}))


def _with_more(first: int | None, find: Any, positions: str | None) -> tuple[int, ...]:
    """The first word, and those of further positions, "3.5" in an address; what is no position names none."""
    more = [find(int(each)) for each in (positions or "").split(".") if each.isdecimal()]
    return tuple(dict.fromkeys(word for word in (first, *more) if word is not None))


def _rows_of(places: tuple[int, ...], part: tuple[int, ...], wanted: int | None = None) -> list[int]:
    """The rows of a picture that stand for the tokens of a word; the one that was wanted alone, where it is of the word."""
    rows = [row for row, place in enumerate(places) if place in part]
    return [row for row in rows if places[row] == wanted] or rows


def is_pinned() -> bool:
    """Whether a person chose the head, now or in the address; else it follows from the words."""
    state = st.session_state
    if "pinned" not in state:
        chosen = [url_value(name, None) for name in ("layer", "head", "all_heads")]
        state.pinned = any(each is not None for each in chosen) or bool(url_value("mean", False))
    return state.pinned


def pinned_place(first: tuple[int, int], shape: tuple[int, int]) -> Place | None:
    """The head that a person chose, as far as the map has it; None where none was chosen."""
    if not is_pinned():
        for name in ("layer", "head"):
            st.session_state.address.pop(name, None)
        return None
    layer, head = (_chosen_number(*each) for each in zip(("layer", "head"), first, shape, strict=True))
    return layer, None if value("mean", False) else head


def _chosen_number(name: str, unsaid: int, size: int) -> int:
    """A number that was chosen, as far as there are so many; where there is nothing to choose, it is kept for when there is."""
    chosen = value(name, unsaid)
    shown = min(max(chosen, 0), size - 1)
    publish(name, chosen if size == 1 else shown, None)
    return shown


def pin(layer: int | None = None, head: int | None = None) -> None:
    """Makes a head the one that is looked at, whichever words are clicked; for a callback. Without one, that which is shown."""
    state = st.session_state
    state.pinned = True
    if layer is not None:
        state.update(layer=layer, head=head or 0, mean=head is None)


def unpin() -> None:
    """Lets the head follow from the words again; for a callback."""
    forget("layer", "head", "mean", "all_heads")
    st.session_state.pinned = False


def take(matrix: tuple[tuple[int, ...], tuple[int, ...]], change: Mapping[str, Any]) -> None:
    """Keeps what words were clicked; `matrix` is where its rows and columns stand in the map; for a callback."""
    rows, columns = matrix
    forget(*_PARAMETERS)
    state = st.session_state
    if not change.get("isAsked", True):
        return
    state.query = rows[change["query"]]
    if more := [rows[each] for each in change.get("queries", ())]:
        state.queries = ".".join(map(str, more))
    if change.get("isLink", True):
        state.key = columns[change["key"]]
        if more := [columns[each] for each in change.get("keys", ())]:
            state["keys"] = ".".join(map(str, more))
