"""Widgets whose value is in the address: drawn with what it says, and bounded here, for a browser may send anything."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.core.errors import PromptError
from attnviz.ui.address.address_sync import LINK_CHARACTERS, declared, publish, restore, url_value, value, visit
from attnviz.ui.address.parameters import Choice, Flag, Number
from attnviz.ui.visitor_limits import check_length


def sent(key: str, name: str) -> Any:
    """Give what the component or the figure of a key has sent by that name; None where it is on the page no more.

    For callbacks: what a browser has sent may come late, when the page has drawn something else.
    """
    return getattr(st.session_state.get(key), name, None)


def toggle(place: DeltaGenerator, label: str, name: str, **more: Any) -> bool:
    """A switch."""
    kind = declared(name, Flag)
    restore(name, kind.default)
    chosen = place.toggle(label, key=name, **more)
    publish(name, chosen, kind.default)
    return chosen


def segments(place: DeltaGenerator, label: str, name: str, **more: Any) -> Any:
    """One of a few, side by side: those that the parameter declares, or `options`."""
    return one_of(place.segmented_control, label, name, required=True, **more)


def dropdown(place: DeltaGenerator, label: str, name: str, **more: Any) -> Any:
    """One of several, in a list: those that the parameter declares, or `options`."""
    return one_of(place.selectbox, label, name, **more)


def one_of(
    widget: Callable[..., Any], label: str, name: str, *, options: Sequence[Any] = (), default: Any = None, **more: Any
) -> Any:
    """One of the options; the default, or else the first, where nothing is chosen, or nothing that is there."""
    options = options or declared(name, Choice).options
    first = default if default in options else options[0]
    restore(name, first, options)
    chosen = widget(label, options, key=name, **more)
    chosen = chosen if chosen in options else first
    publish(name, chosen, first)
    return chosen


def one_or_typed(place: DeltaGenerator, label: str, name: str, options: Sequence[str], default: str, **more: Any) -> str:
    """One of several, or what else the address says, in a list; the default where nothing is chosen."""
    restore(name, default)
    current = st.session_state[name]
    options = options if not current or current in options else [*options, current]
    chosen = place.selectbox(label, options, key=name, **more) or default
    publish(name, chosen, default)
    return chosen


def one_shown(name: str, options: Sequence[Any], first: Any) -> Any:
    """One of the options that a click on the page chooses, without a widget of its own; else the first."""
    chosen = value(name, first)
    chosen = chosen if chosen in options else first
    publish(name, chosen, first)
    return chosen


def text_field(widget: Callable[..., str], label: str, name: str, *, default: str = "", **more: Any) -> str:
    """A text. One that is too long for an address is not part of it; one that is longer than is read here is refused."""
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
    """A button that opens a page as an address with these values would."""
    st.button(label, key=key, icon=f":material/{icon}:", on_click=visit, args=(page,), kwargs=dict(address), **more)


def fold(label: str, name: str, icon: str | None = None, *, opens: bool = False) -> Any:
    """A part of the page that opens with a click, as the address says; `opens`: where it says nothing, it is open."""
    written = url_value(name, "")
    # Set anew in every run: another label on it makes it another widget, which would begin closed.
    st.session_state[name] = st.session_state.get(name, written == "open" or (opens and not written))
    folded = st.expander(label, key=name, on_change="rerun", icon=icon)
    publish(name, "open" if folded.open else "closed" if opens else "", "")
    return folded


def bounded(place: DeltaGenerator, label: str, name: str, *, slider: bool = False, default: Any = None, **more: Any) -> Any:
    """A number within its bounds: typed, or on a slider."""
    kind = declared(name, Number)
    first = kind.default if default is None else default
    restore(name, first)
    if st.session_state[name] != (within := kind.bound(st.session_state[name])):
        st.session_state[name] = within
    widget = place.slider if slider else place.number_input
    chosen = kind.bound(widget(label, kind.least, kind.most, key=name, step=kind.step, **more))
    publish(name, chosen, first)
    return chosen
