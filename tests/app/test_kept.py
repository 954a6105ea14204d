"""What a server keeps of its visits: as many traces as the shelf holds, their overviews, and nothing of other texts."""

import gc
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from attnviz.analysis.head_view import HeadMatrix
from attnviz.core.trace import AttentionMap, HeadCosts
from attnviz.figures.explorer import Overview
from attnviz.ui.background import results as models
from attnviz.ui.background.jobs import LruCache, held_bytes
from tests.visits import Visit

# What each page is opened with, and the box that texts are typed in.
PAGES = {
    "encode": ({"model": "minilm"}, "typed"),
    "translate": ({"models": ["bahdanau-en-fr"]}, "typed"),
    "answer": ({"models": ["answer-en"], "question": "Who sleeps?"}, "typed_passage"),
}


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    models.traces_kept.clear()
    yield
    models.traces_kept.clear()


def test_what_was_asked_for_last_is_kept_within_a_number() -> None:
    shelf: LruCache[str] = LruCache(most=3, nbytes=100)
    assert [shelf.get(word, word.upper) for word in "abcad"] == ["A", "B", "C", "A", "D"]
    assert [shelf.get(word, str) for word in "acd"] == ["A", "C", "D"]
    assert shelf.get("b", lambda: "new") == "new"


def test_a_value_weighs_what_its_arrays_do() -> None:
    costs, draws = {"encoder": np.zeros((3, 5)), "cross": np.zeros((2, 7))}, np.zeros(11, np.float32)
    assert held_bytes((HeadCosts("nats", 0.0, costs), [draws], "abc", None)) == 8 * (15 + 14) + 4 * 11


def test_it_is_kept_within_a_weight_but_the_last_one_stays() -> None:
    shelf: LruCache[str] = LruCache(most=9, nbytes=100)
    for word in "abc":
        shelf.get(word, word.upper)
    shelf.weigh("a", 60)
    shelf.weigh("c", 40)
    assert [shelf.get(word, str) for word in "abc"] == ["A", "B", "C"]
    shelf.weigh("c", 101)
    assert shelf.get("c", str) == "C"
    assert shelf.get("a", lambda: "new") == "new"
    # Nobody holds it: it takes nothing.
    shelf.weigh("b", 1000)
    assert shelf.get("a", str) == "new"


@pytest.mark.gate
@pytest.mark.parametrize("page", PAGES)
def test_text_after_text_leaves_no_more_behind(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "TRACES_KEPT", 2)
    address, box = PAGES[page]
    visit = Visit(monkeypatch, page, address)

    def held_after(name: str) -> Counter[type]:
        """What is alive of traces and pictures after the page has been asked about a text."""
        text = f"Anna has a {name} that sleeps."
        visit.app.text_area(key=box).set_value(text)
        visit.app.button[0].click()
        visit.run()
        assert visit.actual[0].trace.prompt.text == text
        visit.actual.clear()
        gc.collect()
        return Counter(type(each) for each in gc.get_objects() if type(each) in (AttentionMap, HeadMatrix, Overview))

    # After the third the shelf is full, and all that Python keeps for a while.
    _, _, third, _, fifth = map(held_after, ("cat", "dog", "cow", "hen", "fox"))
    assert third[AttentionMap] >= 2
    assert not fifth - third
    # What visits leave is soon found: libraries are not searched for it.
    assert gc.get_freeze_count() > 100_000


@pytest.mark.parametrize("page", [page if page == "encode" else pytest.param(page, marks=pytest.mark.gate) for page in PAGES])
def test_a_visit_that_has_left_holds_no_map(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "TRACES_KEPT", 1)
    address, box = PAGES[page]
    # Streamlit keeps what a visit has clicked, typed and could click for two minutes.
    left = []

    def held_after(name: str) -> int:
        visit = Visit(monkeypatch, page, address | {box.removeprefix("typed_").replace("typed", "text"): f"A {name} sleeps."})
        left.append(visit.app.session_state)
        visit.actual.clear()
        gc.collect()
        return sum(type(each) is AttentionMap for each in gc.get_objects())

    _, second, _, fourth = map(held_after, ("cat", "dog", "cow", "hen"))
    assert second >= 1
    assert fourth <= second
