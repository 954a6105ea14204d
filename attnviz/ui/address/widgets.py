"""Widgets whose value is in the address, drawn with what it says and bounded here; and the words that a person chose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.head_view import HeadMatrix, View
from attnviz.analysis.word_links import Place, WordLinks, first_link
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap
from attnviz.ui.address.address_sync import LINK_CHARACTERS, declared, forget, publish, restore, url_value, value, visit
from attnviz.ui.address.parameters import Choice, Flag, Number
from attnviz.ui.visitor_limits import check_length

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
        """Find the cell of a picture for the link: that of the clicked tokens, else the strongest in the word's first row."""
        rows = _rows_of(matrix.rows, self.links.lens.row_parts[self.queries[0]], value("query"))
        row = rows[0] if rows else 0
        columns = _rows_of(matrix.columns, self.links.lens.column_parts[self.keys[0]], value("key")) if self.keys else []
        columns = columns or range(len(matrix.columns))
        return row, max(columns, key=lambda column: float(matrix.weights[row, column]))

    def settings(self, matrix: HeadMatrix) -> dict[str, object]:
        """Return what the explorer needs to know of the question, by rows and columns of its picture."""
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
        """Return a table's name in the browser, and the table: mean weights of the query words to every word, in all heads."""
        links = _links(attention, self.links.lens.view)
        rows = [_rows_of(matrix.rows, links.lens.row_parts[word])[0] for word in self.queries]
        return f"row:{'-'.join(map(str, rows))}", np.mean([links.row(word) for word in self.queries], axis=0)


def ask(attention: AttentionMap, view: View, first: tuple[int, int], unasked: Link = (None, None)) -> WordQuestion:
    """Read the chosen query words, key words and head of a map; `first`: the head of an address that names only half of one.

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
    """Join the first word and those of further positions, "3.5" in an address; skip what is no position."""
    more = [find(int(each)) for each in (positions or "").split(".") if each.isdecimal()]
    return tuple(dict.fromkeys(word for word in (first, *more) if word is not None))


def _rows_of(places: tuple[int, ...], part: tuple[int, ...], wanted: int | None = None) -> list[int]:
    """Find the rows of a picture that show a word's tokens; only the wanted one, where it is of the word."""
    rows = [row for row, place in enumerate(places) if place in part]
    return [row for row in rows if places[row] == wanted] or rows


def is_pinned() -> bool:
    """Say whether a person chose the head, now or in the address; else it follows from the words."""
    state = st.session_state
    if "pinned" not in state:
        chosen = [url_value(name, None) for name in ("layer", "head", "all_heads")]
        state.pinned = any(each is not None for each in chosen) or bool(url_value("mean", False))
    return state.pinned


def pinned_place(first: tuple[int, int], shape: tuple[int, int]) -> Place | None:
    """Return the head that a person chose, as far as the map has it; None where none was chosen."""
    if not is_pinned():
        for name in ("layer", "head"):
            st.session_state.address.pop(name, None)
        return None
    layer, head = (_chosen_number(*each) for each in zip(("layer", "head"), first, shape, strict=True))
    return layer, None if value("mean", False) else head


def _chosen_number(name: str, unsaid: int, size: int) -> int:
    """Clamp a chosen number to 0 … size - 1; where there is nothing to choose, the address keeps it for when there is."""
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


def sent(key: str, name: str) -> Any:
    """Give what the component or the figure of a key has sent by that name; None where it is on the page no more.

    For callbacks: what a browser has sent may come late, when the page has drawn something else.
    """
    return getattr(st.session_state.get(key), name, None)


def toggle(place: DeltaGenerator, label: str, name: str, **more: Any) -> bool:
    """Draw a switch whose state the address keeps."""
    kind = declared(name, Flag)
    restore(name, kind.default)
    chosen = place.toggle(label, key=name, **more)
    publish(name, chosen, kind.default)
    return chosen


def segments(place: DeltaGenerator, label: str, name: str, **more: Any) -> Any:
    """Offer a few options, side by side: those that the parameter declares, or `options`."""
    return one_of(place.segmented_control, label, name, required=True, **more)


def dropdown(place: DeltaGenerator, label: str, name: str, **more: Any) -> Any:
    """Offer several options, in a list: those that the parameter declares, or `options`."""
    return one_of(place.selectbox, label, name, **more)


def one_of(
    widget: Callable[..., Any], label: str, name: str, *, options: Sequence[Any] = (), default: Any = None, **more: Any
) -> Any:
    """Draw a widget and return the chosen option; the default, or else the first, where none of them is chosen."""
    options = options or declared(name, Choice).options
    first = default if default in options else options[0]
    restore(name, first, options)
    chosen = widget(label, options, key=name, **more)
    chosen = chosen if chosen in options else first
    publish(name, chosen, first)
    return chosen


def one_or_typed(place: DeltaGenerator, label: str, name: str, options: Sequence[str], default: str, **more: Any) -> str:
    """Offer several options in a list, and what else the address says; return the default where nothing is chosen."""
    restore(name, default)
    current = st.session_state[name]
    options = options if not current or current in options else [*options, current]
    chosen = place.selectbox(label, options, key=name, **more) or default
    publish(name, chosen, default)
    return chosen


def one_shown(name: str, options: Sequence[Any], first: Any) -> Any:
    """Return the option that a click on the page chose, without a widget of its own; else the first."""
    chosen = value(name, first)
    chosen = chosen if chosen in options else first
    publish(name, chosen, first)
    return chosen


def text_field(widget: Callable[..., str], label: str, name: str, *, default: str = "", **more: Any) -> str:
    """Draw a text field and return its text. The address leaves out what is too long for it; what is longer yet is refused."""
    restore(name, default)
    written = widget(label, key=name, **more)
    try:
        check_length(written)
    except PromptError as error:
        st.error(str(error), icon=":material/edit:")
        written = default
    publish(name, written if len(written) <= LINK_CHARACTERS else default, default)
    return written


def visit_button(label: str, page: str, address: Mapping[str, Any], *, key: str, icon: str, **more: Any) -> None:
    """Draw a button that opens a page as an address with these values would."""
    st.button(label, key=key, icon=f":material/{icon}:", on_click=visit, args=(page,), kwargs=dict(address), **more)


def fold(label: str, name: str, icon: str | None = None, *, opens: bool = False) -> Any:
    """Draw a part of the page that opens with a click, as the address says; `opens`: where it says nothing, it is open."""
    written = url_value(name, "")
    # Set anew in every run: another label on it makes it another widget, which would begin closed.
    st.session_state[name] = st.session_state.get(name, written == "open" or (opens and not written))
    folded = st.expander(label, key=name, on_change="rerun", icon=icon)
    publish(name, "open" if folded.open else "closed" if opens else "", "")
    return folded


def bounded(place: DeltaGenerator, label: str, name: str, *, slider: bool = False, default: Any = None, **more: Any) -> Any:
    """Let a person type a number within its bounds, or choose it on a slider."""
    kind = declared(name, Number)
    first = kind.default if default is None else default
    restore(name, first)
    if st.session_state[name] != (within := kind.bound(st.session_state[name])):
        st.session_state[name] = within
    widget = place.slider if slider else place.number_input
    chosen = kind.bound(widget(label, kind.least, kind.most, key=name, step=kind.step, **more))
    publish(name, chosen, first)
    return chosen
