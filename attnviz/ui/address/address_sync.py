"""What a page shows and what its address says, kept equal: arriving reads the address, what a person does is written into it.

A visit begins when a page is opened, by its link, by another page or by the browser's back and forward. What the visit before
left behind goes, and the address alone decides. At the end of a run what was done since stands in the address, in one step
that the browser can take back.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.analysis.head_ranking import Place, WordLinks, first_link
from attnviz.analysis.head_view import HeadMatrix, View
from attnviz.analysis.wording import head_name
from attnviz.core.errors import PromptError
from attnviz.core.trace import AttentionMap
from attnviz.figures.html import bundle
from attnviz.pages_and_addresses import (
    LESSON,
    PARAMETERS,
    SLOTS,
    Choice,
    Flag,
    Names,
    Number,
    Type,
    Written,
    read_parameter,
    renamed,
    write_parameter,
)
from attnviz.ui.visitor_limits import check_length

Kind = TypeVar("Kind")
# Browsers and proxies refuse longer addresses; such a text is not part of the link, and the page says so.
LINK_CHARACTERS = 4_000
# What follows from the address, and is made anew with it.
_DERIVED = {
    *("typed", "typed_pair", "with_pair", "typed_other", "typed_question", "typed_passage", "typed_claim"),
    *("first_head", "pinned"),
    *("about_of", "about_first"),
    *("dim", "numbers", "edited", "own_begun", "at_step", "toy"),
    *("writes", "begun"),
    # What was wrong with a file that is in no box any more.
    *("trace_file_refused", "toy_file_refused", "lesson-file_refused"),
    *(
        f"{name}{slot}"
        for name in ("edits_before", "edited_of", "refused_edit", "untried_edits")
        for slot in ("", *range(1, SLOTS + 1))
    ),
}
_OF_A_VISIT = _DERIVED.union(*PARAMETERS.values())


@dataclass(frozen=True)
class Going:
    """Where the browser is to go: a page and its query, as a new entry of its history or in place of the present one."""

    page: str
    query: str
    replace: bool = False


def pop_state(name: str) -> Any:
    """Take a value out of the session, None where there is none.

    Its own `pop` reads first and then deletes, and fails where a run of this visit that is overtaken has deleted meanwhile.
    """
    kept = st.session_state.get(name)
    with suppress(KeyError):
        del st.session_state[name]
    return kept


def arrive(page: str) -> Going | None:
    """Begins a run of a page; a new visit reads the address. Returns where the browser is to go instead, if it is."""
    state = st.session_state
    if going := pop_state("going"):
        return going
    is_history = _is_history()
    if (before := state.get("page")) == page and not is_history:
        return None
    written = _written_address(page)
    visits: dict[str, dict[str, Written]] = state.setdefault("visits", {})
    if before and not is_history and (address := _continued(page, written, visits.get(page, {}))) != written:
        # A link of the menu leads to where this visitor was before, and every link takes the lesson along.
        return Going(page, query_of(address), replace=True)
    state.page, state.address, state.arrives = page, written, True
    if before or written:
        for name in _OF_A_VISIT:
            pop_state(name)
    if _own(written) == _own(visits.get(page, {})):
        state.update(state.get("unlinked", {}).get(page, {}))
    return None


def _is_history() -> bool:
    """Say whether the browser went back or forward to get here."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _written_address(page: str) -> dict[str, Written]:
    """Return a page's parameters in the browser's address, under today's names, and as they are read."""
    given = list(st.query_params)
    own = {**{name: name for name in given if name in PARAMETERS[page]}, **renamed(page, given)}
    written = {new: _written(name, PARAMETERS[page][new]) for name, new in own.items()}
    read = {name: read_parameter(page, name, value) for name, value in written.items()}
    # A text stays as it is: it may be packed.
    return {
        name: written[name] if isinstance(value, str) else write_parameter(value)
        for name, value in read.items()
        if value is not None
    }


def _continued(page: str, written: dict[str, Written], visited: dict[str, Written] | None = None) -> dict[str, Written]:
    """Return the written address, or else that of the visit before, within the lesson that runs now.

    The page Lessons is where all of them are offered.
    """
    if page == "lessons" or "lesson" in written:
        return written
    lesson = {name: value for name, value in st.session_state.address.items() if name in LESSON}
    return (written or _own(visited or {})) | lesson


def _own(address: dict[str, Written]) -> dict[str, Written]:
    """Drop the lesson's parameters from an address."""
    return {name: value for name, value in address.items() if name not in LESSON}


def peek(page: str) -> dict[str, Written]:
    """Read the address that a page will have, before it is run."""
    is_same = st.session_state.get("page") == page and not _is_history()
    return dict(st.session_state.address) if is_same else _written_address(page)


def _written(name: str, kind: Type) -> Written:
    return st.query_params.get_all(name) if isinstance(kind, Names) else st.query_params[name]


def finish() -> None:
    """Ends a run of a page: the address says what it shows. All changes are one message, and so one step back."""
    state = st.session_state
    state.setdefault("visits", {})[state.page] = dict(state.address)
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    if is_new := given != {name: [value] if isinstance(value, str) else value for name, value in state.address.items()}:
        st.query_params.from_dict(state.address)
    # What the browser's address should be already. Told once in a visit: by the next run it may be newer than what was told.
    state.standing = link() if pop_state("arrives") and not is_new else None


def visit(page: str, **values: object) -> None:
    """Opens a page as an address with these values would; for a callback. Texts too long for an address come along."""
    state = st.session_state
    long = {name: value for name, value in values.items() if isinstance(value, str) and len(value) > LINK_CHARACTERS}
    address = {name: write_parameter(value) for name, value in values.items() if name not in long and value not in (None, "")}
    address = _continued(page, address)
    state.setdefault("unlinked", {})[page] = long
    state.setdefault("visits", {})[page] = address
    state.going = Going(page, query_of(address))


def query_of(address: dict[str, Written]) -> str:
    """Write an address as the query of a link."""
    return urlencode(address, doseq=True)


def link() -> str:
    """Return the query of the link that opens what the page shows."""
    return query_of(st.session_state.address)


def declared(name: str, kind: type[Kind]) -> Kind:
    """Return the declaration of a parameter of this page."""
    return cast(Kind, PARAMETERS[st.session_state.page][name])


def url_value(name: str, default: Any) -> Any:
    """Read a parameter out of the address; the default where it says nothing, or nothing that can be read."""
    state = st.session_state
    given = read_parameter(state.page, name, state.address.get(name))
    return default if given is None else given


def value(name: str, default: Any = None) -> Any:
    """Return what was chosen in this visit, else what the address says, else the default."""
    chosen = st.session_state.get(name)
    return url_value(name, default) if chosen is None else chosen


def restore(name: str, default: Any, options: Collection[Any] = ()) -> None:
    """Gives the widget called `name` the value that the address holds, before the widget is drawn for the first time.

    Where there are `options`, a value that is none of them becomes the default: a browser may send anything.
    """
    chosen = value(name, default)
    if options and chosen not in options:
        chosen = default
    if name not in st.session_state or st.session_state.get(name) != chosen:
        st.session_state[name] = chosen


def publish(name: str, value: Any, default: Any) -> None:
    """Puts a value into the address where that says another; what is shown unasked needs not be said."""
    address = st.session_state.address
    if url_value(name, default) == value:
        return
    if value == default:
        address.pop(name, None)
    else:
        address[name] = write_parameter(value)


def remembered(name: str, default: str) -> str:
    """Return a value that was run: of this visit, else of the address, else the default."""
    restore(name, default)
    return st.session_state[name]


def remember(name: str, value: str, default: str) -> None:
    """Keeps a value that is run now, and puts it into the address unless it is the default or too long."""
    state = st.session_state
    state[name] = value
    is_long = len(value) > LINK_CHARACTERS
    publish(name, default if is_long else value, default)
    long = state.setdefault("unlinked", {}).setdefault(state.page, {})
    if is_long:
        long[name] = value
    else:
        long.pop(name, None)


def forget(*names: str) -> None:
    """Lets go of what was chosen, here and in the address."""
    for name in names:
        pop_state(name)
        st.session_state.address.pop(name, None)


def forget_cell() -> None:
    """Lets go of the chosen cells: the next picture shows its own strongest link."""
    for name in ("query", "key", "queries", "keys"):
        forget(name, *(f"{name}{slot}" for slot in range(1, SLOTS + 1)))


def forget_drafts() -> None:
    """Lets go of what was chosen in the translations of a text: cells, how they begin, and which candidate is looked at."""
    forget_cell()
    for name in ("begins", "candidate"):
        forget(*(f"{name}{slot}" for slot in range(1, SLOTS + 1)))


def forget_languages() -> None:
    """Lets go of the languages that were chosen to be written: other models have others; for a callback."""
    forget("language", *(f"language{slot}" for slot in range(1, SLOTS + 1)))


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
    """Return the callback of a click on a cell of a matrix, sent as "row.column": it chooses that cell."""
    rows, columns = matrix.rows, matrix.columns

    def pick(picked: str) -> None:
        if (at := picked_cell(picked)) and at[0] < len(rows) and at[1] < len(columns):
            select_cell(rows[at[0]], columns[at[1]], slot)

    return pick


# A position that looks, and one that is looked at.
Link = tuple[int | None, int | None]


def chosen_link(shape: tuple[int, int], slot: str = "") -> Link:
    """Return the chosen query and key, and keep them in the address; None for what a map of so many queries and keys has not.

    `slot` tells several pictures of a page apart.
    """
    places: list[int | None] = []
    for name, size in zip((f"query{slot}", f"key{slot}"), shape, strict=True):
        place = value(name)
        places.append(place if place is not None and 0 <= place < size else None)
        # One that this view hides stays chosen: what the address said before it does not come back.
        publish(name, places[-1], None)
    return places[0], places[1]


def selected_cell(matrix: HeadMatrix, link: Link) -> tuple[int, int] | None:
    """Return the (row, column) of a link in this matrix; None if the matrix does not show it."""
    query, key = link
    if query not in matrix.rows or key not in matrix.columns:
        return None
    return matrix.rows.index(query), matrix.columns.index(key)


_HERE = Path(__file__).parent
_HISTORY = component(
    "attnviz.history",
    html='<details class="history"><summary>History</summary><div></div></details>',
    css=(_HERE / "visited_heads.css").read_text(encoding="utf-8"),
    js=bundle(_HERE / "visited_heads.js"),
)
# What is read on a page, by the name of its parameter.
_READ = {"encode": "text", "translate": "text", "answer": "question", "summarize": "text", "write": "text"}
_HEADED = {"encode": "mean", "translate": "all_heads", "answer": "all_heads", "summarize": "all_heads", "write": "mean"}
_TITLE = 120


def show_history() -> None:
    """Tells the browser what is shown now, and draws what it has been told before, in the sidebar.

    A text that is too long for an address is not part of it. An address that the page before has written over is put right.
    """
    state = st.session_state
    page = state.get("page", "")
    # A session refuses an empty name, and not every page reads a text.
    text = state.get(_READ[page], "") if page in _READ else ""
    is_linked = not state.get("unlinked", {}).get(page)
    shown = {"page": page, "title": text[:_TITLE], "head": _head(page), "query": link()} if text and is_linked else None
    with st.sidebar:
        _HISTORY(key="history", data=[page, pop_state("standing"), shown])


def _head(page: str) -> str:
    state = st.session_state
    if "layer" not in state or "head" not in state:
        return ""
    return head_name(state.layer, None if state.get(_HEADED[page]) else state.head)


_PARAMETERS = ("query", "key", "queries", "keys")
# What was computed of a map is kept as long as the map is.
_KEPT: WeakKeyDictionary[AttentionMap, dict[object, np.ndarray]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class WordQuestion:
    """Words of a map that look, those they look at, and the head that is looked at.

    queries, keys  indices of words of `links`; no keys: there is nothing to look at
    place          layer and head, None: the mean over its heads
    positions      of the map, those that stand for the first of each: clicked, or the page's own; None: any of the word
    is_asked, is_link, is_pinned  whether a person chose who looks, who is looked at, and the head
    """

    links: WordLinks
    queries: tuple[int, ...]
    keys: tuple[int, ...]
    place: Place
    positions: Link
    is_asked: bool
    is_link: bool
    is_pinned: bool

    def cell(self, matrix: HeadMatrix) -> tuple[int, int]:
        """Find the cell of a picture for the link: that of the positions, else the strongest in the word's first row."""
        query, key = self.positions
        rows = _rows_of(matrix.rows, self.links.lens.row_parts[self.queries[0]], query)
        row = rows[0] if rows else 0
        columns = _rows_of(matrix.columns, self.links.lens.column_parts[self.keys[0]], key) if self.keys else []
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
    _forget_beyond(attention)
    asked = {name: value(name) for name in _PARAMETERS}
    for name, chosen in asked.items():
        publish(name, chosen, None)
    query_place, key_place = unasked if asked["query"] is None else (asked["query"], asked["key"])
    query = links.query_at(query_place)
    key = None if query is None else links.key_at(key_place)
    place = pinned_place(first, (attention.n_layers, attention.n_heads))
    link = first_link(links, place, query=query, key=key)
    queries = _with_more(link.query, links.query_at, asked["queries"] if query is not None else "")
    keys = _with_more(link.key, links.key_at, asked["keys"] if asked["key"] is not None and key is not None else "")
    shown = place or (link.layer, link.head)
    if place is None and len(queries) + len(keys) > 2:
        shown = links.strongest_head(queries, keys)
    positions = query_place, key_place
    return WordQuestion(links, queries, keys, shown, positions, query is not None, key is not None, place is not None)


def _forget_beyond(attention: AttentionMap) -> None:
    """Lets go of chosen words that the map does not have, and of those that belong to a word which is not chosen."""
    for name, more, tokens in (("query", "queries", attention.queries), ("key", "keys", attention.keys)):
        if (value(name) or 0) >= len(tokens):
            forget(name)
        written = value(more) or ""
        places = [each for each in written.split(".") if re.fullmatch("[0-9]{1,5}", each) and int(each) < len(tokens)]
        if (there := ".".join(places)) != written:
            forget(more)
            st.session_state.update({more: there} if there else {})
    if value("query") is None:
        forget(*_PARAMETERS)
    elif value("key") is None:
        forget("keys")


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


def take(chosen: Mapping[str, Any], slot: str = "") -> None:
    """Keeps what words or which cell were clicked, as an address of the page would say it; for a callback."""
    state = st.session_state
    for name, written in ((f"{each}{slot}", chosen.get(each)) for each in _PARAMETERS):
        forget(name)
        # A browser may send anything.
        if (place := None if written is None else read_parameter(state.page, name, str(written))) is not None:
            state[name] = place


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
