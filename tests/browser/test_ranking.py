"""Heads as a list by a measure, the room that the picture fills, a long text that follows, and labels under a finger."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from attnviz.analysis.head_metrics import measure
from attnviz.analysis.head_view import head_matrix
from tests.browser.harness import watched
from tests.browser.pages import PHONE, cell_at, settle
from tests.browser.test_explorer import WORDS, example, show, trace_of, view
from tests.factories import make_map, numbered, typed

TEN_WORDS = "[CLS] The quick brown fox jumps over the lazy dog today . [SEP]"
LAPTOP = 1028


def order(page: Page, name: str) -> None:
    page.locator(".order select").first.select_option(name)


def test_heads_of_the_whole_model_are_sorted_and_opened_by_mouse_and_keyboard(page: Page, tmp_path: Path) -> None:
    attention = example("encoder")
    show(page, tmp_path, trace_of(attention))
    order(page, "entropy")
    places = [(layer, head) for layer in range(3) for head in range(5)]
    entropy = {place: measure(head_matrix(attention, layer=place[0], head=place[1])).entropy for place in places}
    wanted = sorted(places, key=lambda place: round(entropy[place], 3))
    ranked = page.locator(".explorer").evaluate(
        "({ explorer }) => explorer.views.ranking.ranked.map((each) => each.slice(0, 2))"
    )
    assert [tuple(place) for place in ranked] == wanted
    expect(page.locator(".pane.grid .caption").last).to_have_text(
        "All 15 heads of the model, those with the lowest entropy first"
    )
    canvas = page.locator("canvas.ranking")
    canvas.click(position={"x": 60, "y": 2 * 44 + 20})
    page.locator(f".explorer[data-head='{wanted[2][0]}:{wanted[2][1]}']").wait_for()
    canvas.focus()
    page.keyboard.press("ArrowUp")
    name = f"L{wanted[1][0]}·H{wanted[1][1]}"
    expect(page.locator(".note")).to_contain_text(f"{name}   entropy {entropy[wanted[1]]:.2f} bits")
    distance = measure(head_matrix(attention, layer=wanted[1][0], head=wanted[1][1])).distance
    expect(page.locator(".note")).to_contain_text(f"%, mean distance {distance:.1f} tokens")
    page.keyboard.press("Enter")
    page.locator(f".explorer[data-head='{wanted[1][0]}:{wanted[1][1]}']").wait_for()
    order(page, "model")
    expect(page.locator("canvas.heads")).to_be_visible()
    expect(canvas).to_be_hidden()


def test_the_head_in_view_is_in_sight_in_a_long_list(page: Page, tmp_path: Path) -> None:
    show(page, tmp_path, trace_of(make_map(numbered(9), layers=12, heads=7)))
    order(page, "distance")
    at, top, height = page.locator(".explorer").evaluate(
        """({ explorer: { views: { ranking }, state } }) => [
          ranking.ranked.findIndex(([layer, head]) => layer === state.layer && head === state.head),
          ranking.frame.scrollTop, ranking.frame.clientHeight]"""
    )
    assert top <= at * 44 <= top + height - 44


def test_beside_the_matrix_the_heads_end_before_it_does(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": LAPTOP + 72, "height": 900})
    show(page, tmp_path, trace_of(make_map(typed(TEN_WORDS), layers=6, heads=12)))
    cell, matrix, grid = page.locator(".explorer").evaluate(
        """({ explorer: { views: { matrix, grid } } }) => [matrix.size.cell, matrix.canvas.getBoundingClientRect().bottom,
          grid.canvas.getBoundingClientRect().bottom]"""
    )
    assert cell >= 28
    assert 0 <= matrix - grid <= 120


@pytest.mark.parametrize("name", ["words", "text"])
def test_in_a_long_text_the_chosen_word_is_in_sight(page: Page, tmp_path: Path, name: str) -> None:
    page.set_viewport_size({"width": 1100, "height": 500})
    show(page, tmp_path, trace_of(make_map(numbered(400), layers=1, heads=2)))
    if name == "text":
        view(page, "Text")
    shown = """({ explorer }, [name, index]) => {
      const { actions, views } = explorer;
      actions.selectCell(index, 0);
      views[name].draw();
      const box = views[name].lines;
      const chosen = (views[name].keys ?? views[name].spans.keys)[index];
      const [inner, outer] = [chosen, box].map((each) => each.getBoundingClientRect());
      return inner.top >= outer.top && inner.bottom <= outer.bottom && box.scrollHeight > box.clientHeight;
    }"""
    for index in (390, 200, 3):
        assert page.locator(".explorer").evaluate(shown, [name, index])


def test_labels_on_a_phone_stand_apart_and_are_whole_under_a_finger(browser: Browser, tmp_path: Path) -> None:
    with watched(browser, viewport=PHONE, has_touch=True, is_mobile=True) as context:
        opened = context.new_page()
        words = "counterrevolutionaries disagreed incomprehensibly " + WORDS
        show(opened, tmp_path, trace_of(make_map(typed(words), layers=2, heads=3)))
        view(opened, "Matrix")
        script = """({ explorer: { views: { matrix } } }) => {
          const drawn = { row: [], column: [] };
          const { fillText } = CanvasRenderingContext2D.prototype;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
            const { b, d, e } = this.getTransform();
            b ? drawn.column.push(e / Math.hypot(b, d)) : drawn.row.push(y);
          };
          matrix.draw();
          CanvasRenderingContext2D.prototype.fillText = fillText;
          return drawn;
        }"""
        drawn = opened.locator(".explorer").evaluate(script)
        for name, apart in (("row", 15), ("column", 20)):
            places = sorted(drawn[name])
            assert len(places) > 2
            assert min(other - one for one, other in pairwise(places)) >= apart
        opened.touchscreen.tap(*cell_at(opened, 0, 2))
        settle(opened)
        expect(opened.locator(".note")).to_contain_text("counterrevolutionaries → incomprehensibly")
