"""The skeleton that all pages share: a name and a promise, what you type, the answer, the picture, its explanation."""

import html
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz import memory, settings
from attnviz.analysis.wording import Sentence, counted
from attnviz.core.errors import AttnvizError, SettingError
from attnviz.core.trace import AttentionMap
from attnviz.figures.html import SCRIPT, sentence_html
from attnviz.figures.theme import DARK, LIGHT, Theme, css_variables
from attnviz.pages_and_addresses import PAGES
from attnviz.ui.address.address_sync import arrive, sent
from attnviz.ui.frame.toolbar import STYLE, forget_toolbar, presenter, reserve_toolbar
from attnviz.ui.visitor_limits import check_length

Made = TypeVar("Made")
# What CommonMark, its extensions for tables, links and formulas, and Streamlit's `:red[…]` and `:material/…:` begin with.
_SIGNS = re.compile(r"[\\`*\[\]{<&~$]|(?<![^\W_])_|_(?![^\W_])|:(?=\S)|^[#+\->=|]")
_ORDERED = re.compile(r"^(\d+)(?=[.)])")
# Addresses, arrows, dashes and `:streamlit:` are found after backslashes are gone: an empty small text parts them, of which
# nothing is copied.
_REPLACED = re.compile(r"(?<=[:@])(?=\S)|(?<=www)(?=\.)|(?<=[<>~=-])(?=[<>=-])", re.IGNORECASE)
_JOINER, _NOTHING = "\u2060", ":small[]"


def escaped(text: object) -> str:
    r"""Write a text, or what an error says, as one line that Streamlit shows as it stands wherever it reads Markdown.

    Everything goes through here that is not attnviz's own: typed, from a link, out of a file, the name of a model.

    >>> print(escaped("_a_b [c]"), escaped("![x](http://x.org/y.png)") == "!\\[x\\](http\\::small[]//x.org/y.png)")
    \_a_b \[c\] True
    """
    line = _REPLACED.sub(_JOINER, " ".join(str(text).split()))
    return _ORDERED.sub(r"\1\\", _SIGNS.sub(r"\\\g<0>", line)).replace(_JOINER, _NOTHING)


def checked(make: Callable[[], Made], *texts: str, icon: str = "edit") -> Made | None:
    """Make what is asked for with these texts; None after the page has said what is wrong with it."""
    try:
        check_length(*texts)
        return make()
    except AttnvizError as error:
        st.error(escaped(error), icon=f":material/{icon}:")
        return None


def file_uploader(label: str, ending: str, key: str, take: Callable[[Any], None], icon: str = "draft", **more: Any) -> None:
    """Draw a box for a file, which is given to `take`; what is wrong with it, as an error of that says, stands below."""
    refused = f"{key}_refused"

    def receive() -> None:
        st.session_state[refused] = ""
        try:
            if (chosen := st.session_state[key]) is not None:
                take(chosen)
        except AttnvizError as error:
            st.session_state[refused] = str(error)

    st.file_uploader(label, type=[ending], key=key, on_change=receive, **more)
    if said := st.session_state.get(refused):
        st.error(escaped(said), icon=f":material/{icon}:")


class Markup:
    """A component of its own name and style; call it with a key, the HTML, and what is to be done with what is picked.

    A `script` other than that of markup takes a record of what it draws in place of HTML, with the theme and its colours.
    """

    def __init__(self, name: str, style: str, script: str = SCRIPT) -> None:
        self._mount = component(f"attnviz.{name}", html='<div class="markup"></div>', css=style, js=script)

    def __call__(self, key: str, body: str | dict[str, Any], on_pick: Callable[[str], None] | None = None) -> None:
        def picked() -> None:
            if on_pick and (value := sent(key, "picked")) is not None:
                on_pick(value)

        if isinstance(body, dict):
            body = {"theme": theme().name, "colours": css_variables(theme())} | body
        # In a list: of a bare text Streamlit imports pandas, half a second, to see whether it is a table.
        self._mount(key=key, data=[body], on_picked_change=picked)


_BROWSER = component(
    "attnviz.browser", html="<div></div>", js=Path(__file__).with_name("enter_links_and_menu.js").read_text(encoding="utf-8")
)
_THEME = component("attnviz.theme", html="<i></i>", js=Path(__file__).with_name("theme.js").read_text(encoding="utf-8"))


def theme() -> Theme:
    """Light or dark, as the person's browser shows the app."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def header(page: str, title: str = "", promise: str | None = None) -> None:
    """Draw the page's name, and one line saying what you will see, where a lesson has no others."""
    _check_settings()
    _tell_memory()
    _open(page)
    own = next(each for each in PAGES if each.name == page)
    title = title or ("attnviz" if page == "home" else own.title)
    promise = own.promise if promise is None else promise
    shown = theme()
    colours = (
        f"--background: {shown.background}; --accent: {shown.accent}; --on-accent: {shown.background}; --faint: {shown.faint};"
    )
    st.html(f"<style>:root {{ {colours} }}{STYLE}</style>")
    _THEME(key="theme", data=[shown.name], on_turned_change=lambda: None)
    presenter()
    with st.container(key="title", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.title(title, anchor=False, width="content")
        st.html(f'<p class="promise of-{page}">{html.escape(promise)}</p>', width="content")


def _open(page: str) -> None:
    """Begins a run of the page, or sends the browser where it is to go instead."""
    forget_toolbar()
    going = arrive(page)
    turn = st.session_state.turn = st.session_state.get("turn", 0) + bool(going)
    _BROWSER(key="browser", data=[turn, _path(going.page), going.query, going.replace, _path(page)] if going else [])
    if going:
        # No part of the page that is left is drawn anew, where nothing stands any more: a run that is stopped keeps them.
        if context := get_script_run_ctx():
            context.fragment_storage.clear()
        st.stop()


def _path(page: str) -> str:
    """Name a page as an address does: Home stands at the root."""
    return "" if page == "home" else page


def _check_settings() -> None:
    """Says what is set wrong instead of a page that would break at it."""
    try:
        settings.check()
    except SettingError as error:
        st.error(escaped(error), icon=":material/settings:")
        st.stop()


def _tell_memory() -> None:
    """Says that the app is near the limit of its memory, before the system ends it."""
    if (held := memory.read()) and held.is_tight:
        st.warning(
            f"Memory is nearly full here, {held.used / 2**20:,.0f} of {held.limit / 2**20:,.0f} MB: models that are open go on "
            "working, and no further one of the hub is loaded.",
            icon=":material/memory_alt:",
        )


@contextmanager
def hero() -> Iterator[DeltaGenerator]:
    """Frame the picture, with the toolbar at its top right; yield the place beside that for its sentences.

    A page that knows its sentences only later gives that place to `story` then.
    """
    with st.container(border=True, key="hero"):
        reserve_toolbar()
        yield st.container(key="heading", gap=None)
    st.session_state.pictured = st.session_state.page


def story(*sentences: Sentence, place: DeltaGenerator | None = None) -> None:
    """Sentences made from the picture's numbers, in large type, their tokens quoted and in the accent colour.

    `place`: what `hero` yields, for the row beside the toolbar; None: here.
    """
    body = "".join(f"<p>{sentence_html(sentence)}</p>" for sentence in sentences)
    (place or st.container(gap=None)).html(f'<div class="story" style="--accent:{theme().accent}">{body}</div>')


def size(attention: AttentionMap) -> str:
    """Say how much a map shows, in words."""
    queries, keys = len(attention.queries), len(attention.keys)
    tokens = counted(keys, "token") if queries == keys else f"{queries:,} × {keys:,} tokens"
    heads = attention.n_layers * attention.n_heads
    return f"{tokens} · {counted(heads, 'head')}"


def answer(text: str) -> None:
    """Show what the model wrote, in large type."""
    if text:
        st.html(f'<p class="answer" dir="auto">{html.escape(text)}</p>')
