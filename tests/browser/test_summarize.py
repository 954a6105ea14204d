"""The Summarize page as a person uses it: what is marked, what a click chooses, and a link that opens it again."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import attnviz
from attnviz.analysis.summary_selection import Amount, choose, read_passage, selectors, summary_words
from tests.browser.pages import HOSTILE, open_page, parameters, refuse_hostile, reopen, run, settle
from tests.tiny import FAMILY

TEXT = "Cats sleep all day. Dogs bark at the moon, and nobody knows why. The end."
WRITES = "the cat sat on the mat . the dog ran to the street ."


def bars(page: Page) -> list[float]:
    return page.locator(".passage .unit").evaluate_all("units => units.map((unit) => Number(unit.dataset.score))")


def test_marks_and_bars_are_the_traces_own_ways_and_heads_are_chosen_and_the_link_opens_again(page: Page, app_url: str) -> None:
    open_page(page, app_url, "summarize", model="minilm", text=TEXT, words_kept=4, way="mean")
    trace = attnviz.load("minilm").trace(TEXT)
    actual = read_passage(TEXT, trace.encoder.keys)
    way = next(each for each in selectors(actual, trace, selects=None, layer=5, head=None) if "mean of all" in each.name)
    kept = choose(actual, way.units, way.sentences, Amount(4))
    assert bars(page) == pytest.approx(way.units.tolist(), abs=1e-5)
    words = [unit.text for unit, on in zip(actual.units, kept.units, strict=True) if on]
    expect(page.locator(".passage .unit.kept bdi")).to_have_text(words)
    expect(page.locator(".answer bdi")).to_have_text(actual.extract(kept.sentences))
    ways = page.locator(".ways tr[data-pick]")
    # Above the picture, each with what it keeps.
    assert ways.count() == 6
    ways.filter(has_text="First").locator("p").first.click()
    expect(page.locator(".ways tr.chosen button")).to_have_text("First")
    settle(page)
    assert parameters(page)["way"] == "first"
    expect(page.locator(".answer small")).to_contain_text("First")
    page.get_by_role("button", name="Attention rollout").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".ways tr.chosen button")).to_have_text("Attention rollout")
    settle(page)
    assert parameters(page)["way"] == "rollout"
    page.locator('.costs [data-pick="1.3"]').click()
    expect(page.locator(".ways tr.chosen")).to_contain_text("L1·H3")
    settle(page)
    asked = trace.encoder.weights(1, 3)[1:-1].mean(axis=0)
    assert bars(page) == pytest.approx(actual.by_unit(asked).tolist(), abs=1e-5)
    assert (parameters(page)["layer"], parameters(page)["head"], parameters(page)["way"]) == ("1", "3", "head")
    before = bars(page)
    reopen(page)
    assert bars(page) == before
    # As wide as a desk's window is at 400 %.
    page.set_viewport_size({"width": 320, "height": 568})
    assert min(page.locator(".ways p").evaluate_all("all => all.map((each) => each.clientWidth)")) > 200
    run(page, HOSTILE)
    assert page.locator("textarea").first.input_value() == HOSTILE
    expect(page.locator(".passage")).to_contain_text("<")
    refuse_hostile(page, ".markup")


def test_a_word_of_a_written_summary_shows_where_it_came_from(page: Page, app_url: str, tmp_path: Path) -> None:
    FAMILY["bart"].save(tmp_path)
    open_page(page, app_url, "summarize", model=str(tmp_path), text=WRITES, layer=1)
    cross = attnviz.load(str(tmp_path)).trace(WRITES).cross
    actual = read_passage(WRITES, cross.keys)
    words = summary_words(cross, actual, layer=1, head=None)
    shown = page.locator(".written .word")
    expect(shown).to_have_count(len(words))
    new = [index for index, word in enumerate(words) if word.copied is False]
    assert page.locator(".written .new").count() == len(new)
    shown.nth(2).click()
    expect(page.locator(".written .chosen")).to_have_attribute("data-pick", "2")
    settle(page)
    assert bars(page) == pytest.approx(actual.by_unit(np.asarray(words[2].row)).tolist(), abs=1e-5)
    assert parameters(page)["word"] == "2"
