"""What a browser sends late, to a page that has drawn something else, is nothing; a click is read as an address is."""

import re
from collections import UserDict
from typing import Any

import pytest
import streamlit as st

from attnviz.analysis.head_view import View
from attnviz.pages_and_addresses import MOST
from attnviz.settings import app_folder
from attnviz.ui.address.address_sync import ask, pop_state, sent, take
from attnviz.ui.layout import Markup
from tests.factories import make_map, sentence


def test_of_a_component_that_is_gone_nothing_was_sent(monkeypatch) -> None:
    assert sent("gone", "picked") is None
    picks, callbacks = [], []
    markup = Markup("late", "")
    monkeypatch.setattr(markup, "_mount", lambda **given: callbacks.append(given["on_picked_change"]))
    markup("gone", "<p>", on_pick=picks.append)
    callbacks[0]()
    assert not picks


class _Overtaken(UserDict[str, object]):
    """A session of which another run takes away what has just been read."""

    def __getitem__(self, key: str) -> object:
        return self.data.pop(key)


def test_a_key_that_two_runs_take_at_once_is_taken(monkeypatch) -> None:
    monkeypatch.setattr(st, "session_state", _Overtaken(going=3))
    assert pop_state("going") == 3
    assert pop_state("going") is None


def test_no_page_takes_a_key_of_the_session_otherwise() -> None:
    files = [*(app_folder() / "attnviz" / "ui").rglob("*.py"), *(app_folder() / "pages").glob("*.py")]
    assert len(files) > 50
    assert not [path.name for path in files if re.search(r"\b(session_)?state\.pop\(", path.read_text(encoding="utf-8"))]


class _State(dict[str, Any]):
    """Stands in for the state of a session: its items are attributes, too."""

    __getattr__ = dict.__getitem__


@pytest.mark.parametrize(
    ("page", "slot", "chosen", "wanted"),
    [
        ("encode", "", {"query": 3, "key": 5, "queries": "1.2", "keys": None}, {"query": 3, "key": 5, "queries": "1.2"}),
        ("encode", "", {"query": 3, "key": None, "queries": None, "keys": None}, {"query": 3}),
        ("encode", "", {"query": -7, "key": 10**9, "queries": "1" * 121, "other": 1}, {"query": 0, "key": MOST}),
        ("encode", "", {"query": "<b>", "key": [1], "queries": {}}, {"queries": "{}"}),
        ("translate", "2", {"query": 3, "key": 5, "queries": None}, {"query2": 3, "key2": 5}),
        ("summarize", "", {"query": 3, "key": 5, "queries": "1.2"}, {"query": 3, "key": 5}),
        ("train", "", {"query": True}, {}),
    ],
)
def test_what_was_clicked_is_read_as_an_address_of_the_page_is(
    page: str, slot: str, chosen: dict[str, object], wanted: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {f"{name}{slot}": 9 for name in ("query", "key", "queries", "keys")}
    state = _State(before, page=page, address=dict(before))
    monkeypatch.setattr(st, "session_state", state)
    take(chosen, slot)
    assert {name: value for name, value in state.items() if name in before} == wanted
    assert not state.address


@pytest.mark.parametrize(("query", "words"), [(1, 2), (0, 1)])
def test_further_words_are_asked_about_behind_a_first_one_that_is_shown(
    query: int, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = _State(page="encode", address={}, pinned=False, query=query, queries="2")
    monkeypatch.setattr(st, "session_state", state)
    assert len(ask(make_map(sentence("The dog ran")), View(hide_special=True), (0, 0)).queries) == words
