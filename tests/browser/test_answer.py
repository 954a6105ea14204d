"""The Answer page as a person uses it: what is marked, what a click chooses, and a link that opens it again."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import attnviz
from attnviz.analysis.answer_attention import question_attention
from attnviz.analysis.head_view import View
from attnviz.analysis.wording import percent
from attnviz.core.trace import Prompt
from attnviz.models.question_answering import SpanFinder
from attnviz.models.span_decoding import SpanDecoding
from tests.answerers import tiny_answerer
from tests.browser.pages import HOSTILE, open_page, parameters, refuse_hostile, reopen, settle

QUESTION, PASSAGE = "What was too tired?", "The cat sat on the mat. The animal ran to the street because it was too tired."


BEGINS_WITH_A_STOP = """(part) => {
  const units = [...part.querySelectorAll(".unit")];
  const top = (unit) => unit.getBoundingClientRect().top;
  return units.some((unit, at) => at && unit.querySelector("bdi").innerText === "." && top(unit) > top(units[at - 1]) + 9);
}"""


def bars(page: Page, name: str) -> list[float]:
    return page.locator(f".answered .{name}").evaluate_all("bars => bars.map((bar) => Number(bar.dataset.value))")


def test_marks_and_bars_are_the_models_own_and_a_clicked_word_has_bars_too(page: Page, app_url: str, tmp_path: Path) -> None:
    folder = str(tiny_answerer(tmp_path / "tiny", decoding=SpanDecoding(limit=7, declines_above=1.0)))
    model = attnviz.load(folder)
    assert isinstance(model, SpanFinder)
    actual = model.answers(Prompt(PASSAGE, question=QUESTION))
    open_page(page, app_url, "answer", models=folder, question=QUESTION, passage=PASSAGE, layer=1, all_heads="true")
    expect(page.locator(".answer bdi")).to_have_text(actual.trace.output)
    marked = page.locator(".answered .span.best .unit bdi").all_inner_texts()
    best = actual.result.spans[0]
    assert marked == [token.text for token in actual.tokens[best.start : best.end + 1]]
    assert bars(page, "bar0") == pytest.approx(actual.result.start.tolist(), abs=1e-5)
    assert bars(page, "bar1") == pytest.approx(actual.result.end.tolist(), abs=1e-5)
    highest = max(float(actual.result.start.max()), float(actual.result.end.max()))
    expect(page.locator(".answer-legend")).to_contain_text(f"the tallest bar is {percent(highest)}")
    page.locator(".asked .word", has_text="tired").click()
    expect(page.locator(".asked .chosen bdi")).to_have_text("tired")
    settle(page)
    seen = question_attention(actual.trace, "cross", layer=1, head=None, view=View(words=True))
    place = [token.text for token in seen.question].index("tired")
    assert bars(page, "bar0") == pytest.approx(seen.of_word(place, actual.tokens).tolist(), abs=1e-5)
    assert parameters(page)["asked1"] == str(place)
    before = bars(page, "bar0")
    reopen(page)
    assert bars(page, "bar0") == before
    page.get_by_role("textbox", name="Passage").fill(HOSTILE)
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".answered")).to_contain_text("<")
    settle(page)
    refuse_hostile(page, ".markup")


def test_a_passage_on_a_phone_is_shown_whole_and_a_longer_one_fades_where_it_goes_on(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    folder = str(tiny_answerer(tmp_path / "tiny", decoding=SpanDecoding(limit=7, declines_above=1.0)))
    page.set_viewport_size({"width": 390, "height": 844})
    passage = " ".join([PASSAGE] * 4)
    open_page(page, app_url, "answer", models=folder, question=QUESTION, passage=passage)
    drawn = page.locator(".answered")
    assert drawn.evaluate("part => part.scrollHeight <= part.clientHeight")
    assert faded(drawn) == ("", "")
    for width in range(300, 390, 6):
        drawn.evaluate("(part, width) => { part.style.width = `${width}px`; }", width)
        assert not drawn.evaluate(BEGINS_WITH_A_STOP), f"a line of {width} px begins with a full stop"
    open_page(page, app_url, "answer", models=folder, question=QUESTION, passage=" ".join([passage] * 4))
    for place, edges in ((0, ("0px", "36px")), (500, ("36px", "36px")), (99_999, ("36px", "0px"))):
        drawn.evaluate("(part, place) => { part.scrollTop = place; }", place)
        settle(page)
        assert faded(drawn) == edges


def faded(drawn: Locator) -> tuple[str, ...]:
    """How much of the upper and of the lower edge fades."""
    read = "part => ['--above', '--below'].map((edge) => getComputedStyle(part).getPropertyValue(edge))"
    return tuple(drawn.evaluate(read))
