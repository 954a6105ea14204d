"""The skeleton that all pages share: a name and a promise, what you type, the answer, the picture, its explanation."""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz import memory, settings
from attnviz.analysis.wording import Sentence
from attnviz.core.errors import SettingError
from attnviz.core.trace import AttentionMap
from attnviz.figures.html import sentence_html
from attnviz.figures.theme import DARK, LIGHT, Theme
from attnviz.ui.address.address_sync import arrive
from attnviz.ui.frame.toolbar import STYLE, forget_toolbar, presenter, reserve_toolbar
from attnviz.ui.markup import escaped

_BROWSER = component(
    "attnviz.browser", html="<div></div>", js=Path(__file__).with_name("enter_key_and_links.js").read_text(encoding="utf-8")
)
_THEME = component("attnviz.theme", html="<i></i>", js=Path(__file__).with_name("theme.js").read_text(encoding="utf-8"))


def theme() -> Theme:
    """Light or dark, as the person's browser shows the app."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def header(title: str, promise: str, page: str = "") -> None:
    """Draw the page's name, and one line saying what you will see; `page` is its name in an address, where that is another."""
    _check_settings()
    _tell_memory()
    _open(page or title.lower())
    shown = theme()
    colours = (
        f"--background: {shown.background}; --accent: {shown.accent}; --on-accent: {shown.background}; --faint: {shown.faint};"
    )
    st.html(f"<style>:root {{ {colours} }}{STYLE}</style>")
    _THEME(key="theme", data=[shown.name], on_turned_change=lambda: None)
    presenter()
    with st.container(key="title", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.title(title, anchor=False, width="content")
        st.html(f'<p class="promise of-{page or title.lower()}">{html.escape(promise)}</p>', width="content")


def _open(page: str) -> None:
    """Begins a run of the page, or sends the browser where it is to go instead."""
    forget_toolbar()
    going = arrive(page)
    turn = st.session_state.turn = st.session_state.get("turn", 0) + bool(going)
    _BROWSER(key="browser", data=[turn, _path(going.page), going.query, going.replace, _path(page)] if going else [])
    if going:
        _forget_fragments()
        st.stop()


def _forget_fragments() -> None:
    """Lets no part of the page that is left be drawn anew, where nothing stands any more: a run that is stopped keeps them."""
    if context := get_script_run_ctx():
        context.fragment_storage.clear()


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
    tokens = f"{keys} tokens" if queries == keys else f"{queries} × {keys} tokens"
    heads = attention.n_layers * attention.n_heads
    return f"{tokens} · {heads} head{'' if heads == 1 else 's'}"


def answer(text: str) -> None:
    """Show what the model wrote, in large type."""
    if text:
        st.html(f'<p class="answer" dir="auto">{html.escape(text)}</p>')
