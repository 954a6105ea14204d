"""The Encode page as a person uses it: type, look, click, share, and type what no model expects."""

import re

import pytest
from playwright.sync_api import Page, expect

import attnviz
from attnviz.analysis.head_ranking import WordLinks, first_link
from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.trace import AttentionMap
from tests.browser.harness import WINDOW
from tests.browser.pages import (
    COMPOSED,
    HOSTILE,
    PHONE,
    SENTENCE,
    assert_reopens,
    cell_at,
    choose,
    head_at,
    head_weights,
    open_page,
    parameters,
    press,
    refuse_hostile,
    run,
    settle,
)

# The explorer keeps four digits of a weight.
DIGITS = 5.1e-5
# tests/unit/analysis/test_head_ranking_first_word.py has more of them, and the attention of transformers itself.
TROPHY = "The trophy did not fit in the suitcase because it was too big."


@pytest.fixture(scope="module")
def encoder() -> AttentionMap:
    return attnviz.load("minilm").trace(SENTENCE).encoder


def test_the_first_visit_shows_the_models_own_weights_and_heads_and_cells_open_by_keys_and_clicks(
    page: Page, app_url: str, encoder: AttentionMap
) -> None:
    open_page(page, app_url)
    assert page.locator("textarea").first.evaluate(COMPOSED)
    shown = head_weights(page)
    expected = encoder.weights(3, 1)
    assert len(shown) == len(expected) == 16
    for row, wanted in zip(shown, expected, strict=True):
        assert row == pytest.approx(wanted.tolist(), abs=DIGITS)
    expect(page.locator(".headline")).to_have_text("it looks mostly at animal (68 %), then at street (5 %); 10 % goes to [CLS]")
    expect(page.locator(".story")).to_contain_text("L3·H1 sends “it” to “animal” with weight 68\xa0%")
    page.mouse.move(*head_at(page, 6, 12, 3, 1))
    expect(page.locator(".note")).to_contain_text("it → animal  0.677")
    page.locator("canvas.heads").focus()
    press(page, "ArrowDown")
    expect(page.locator(".note")).to_contain_text("L4·H1")
    page.keyboard.press("Enter")
    expect(page.locator(".story")).to_contain_text("L4·H1")
    settle(page)
    page.mouse.click(*head_at(page, 6, 12, 0, 2))
    expect(page.locator(".story")).to_contain_text("a previous-token head")
    settle(page)
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("0", "2")
    assert head_weights(page)[5] == pytest.approx(encoder.weights(0, 2)[5].tolist(), abs=DIGITS)
    choose(page, "Matrix", "tab")
    page.mouse.click(*cell_at(page, 6, 8))
    expect(page.locator(".story")).to_contain_text("sends “cross” to “street”")
    settle(page)
    assert (parameters(page)["query"], parameters(page)["key"]) == ("6", "8")
    expect(page.locator(".words .query")).to_have_text("cross")
    expect(page.locator(".words .token[tabindex='0']")).to_have_text("cross")
    expect(page.locator(".words .key")).to_have_text("street")


def test_a_word_longer_than_the_page_breaks(page: Page, app_url: str) -> None:
    page.set_viewport_size(PHONE)
    for path, seen, models in (
        ("encode", ".words .token, .headline strong", {}),
        ("translate", ".words .token, td.answer", {"models": ["dot-lstm-en-fr", "bilstm-en-fr"]}),
    ):
        open_page(page, app_url, path, text="Donaudampfschifffahrts" * 6, **models)
        page.locator(".words .headline strong").first.wait_for()
        ends = page.locator(seen).evaluate_all("all => all.map((each) => each.getBoundingClientRect().right)")
        assert len(ends) > 3
        assert max(ends) <= PHONE["width"], path


def test_on_home_a_typed_sentence_is_two_clicks_from_the_head_of_a_link_and_heads_and_examples_open(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url, "")
    run(page, TROPHY)
    for word in ("it", "trophy"):
        page.locator(".words .token").filter(has_text=re.compile(f"^{word}$")).first.click()
    links = WordLinks(attnviz.load("minilm").trace(TROPHY).encoder, View())
    link = first_link(links)
    weight = links.row(link.query)[link.layer, link.head, link.key]
    expect(page.locator(".headline")).to_contain_text("it looks")
    first = page.locator(".first-heads button").first
    expect(first).to_contain_text(f"head {link.head} of layer {link.layer}")
    expect(first.locator("b")).to_have_text(f"{100 * weight:.0f} %")
    # As wide as a desk's window is at 400 %.
    page.set_viewport_size({"width": 320, "height": 568})
    settle(page)
    assert min(page.locator(".first-heads .bar-room").evaluate_all("all => all.map((each) => each.clientWidth)")) > 60
    assert page.locator(".pane.grid:has(canvas.heads)").evaluate("(grid) => grid.scrollWidth - grid.clientWidth") <= 0, (
        "a head is cut off"
    )
    page.set_viewport_size(WINDOW)
    page.locator(f".explorer[data-head='{link.layer}:{link.head}']").wait_for()
    page.get_by_role("button", name="Several words").click()
    page.wait_for_url("**look=*")
    settle(page)
    assert_reopens(page)
    not_run_yet(page)
    opens_heads_and_examples(page)


def opens_heads_and_examples(page: Page) -> None:
    page.mouse.click(*head_at(page, 6, 12, 1, 8))
    expect(page.locator(".where")).to_contain_text("head 8 of layer 1")
    settle(page)
    page.get_by_role("button", name="Encode", exact=True).click()
    page.wait_for_url("**/encode?*")
    expect(page.locator(".story")).to_contain_text("L1·H8")
    settle(page)
    explains_the_cell(page, "The dog slept.")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Home").click()
    # Encode has an example of that name too: it must be gone before one is clicked.
    expect(page.locator("h1")).to_have_text("attnviz")
    settle(page)
    page.get_by_text("Garden path").click()
    expect(page.locator(".story")).to_contain_text("L3·H1 sends “fell” to “horse”")
    assert page.locator("textarea").first.input_value() == "The horse raced past the barn fell."


def explains_the_cell(page: Page, text: str) -> None:
    """On Compute, down to its number."""
    page.get_by_role("button", name="Explain this cell").click()
    page.wait_for_url("**/compute?*")
    page.locator(".compute .way").wait_for()
    assert {"source": "model", "layer": "1", "head": "8"}.items() <= parameters(page).items()
    query, key = int(parameters(page)["query"]), int(parameters(page)["key"])
    weight = float(attnviz.load("minilm").trace(text).encoder.weights(1, 8)[query, key])
    page.locator(".way button", has_text="softmax").click()
    chosen = page.locator("td.chosen")
    expect(chosen).to_have_text(f"{weight:.2f}")
    assert abs(float(chosen.get_attribute("title") or "") - weight) < 1e-6
    expect(page.get_by_text(f"has {weight:.4f} in the heatmap")).to_be_visible()


def not_run_yet(page: Page) -> None:
    """What is typed is not what is shown."""
    read_label = "frame => getComputedStyle(frame, '::before').content"
    hero, box = page.locator(".st-key-hero"), page.locator("textarea")
    settle(page)
    top = hero.bounding_box()
    assert hero.evaluate(read_label) == "none"
    box.fill("The dog slept.")
    page.locator("h1").click()
    expect(page.get_by_text("Not run yet")).to_have_count(1)
    assert "text before" in hero.evaluate(read_label)
    assert hero.bounding_box() == top
    run(page, "The dog slept.")
    assert hero.evaluate(read_label) == "none"
    # The row was one of the text before.
    assert parameters(page).keys() == {"text", "look"}


def test_a_long_text_comes_head_by_head(page: Page, app_url: str) -> None:
    text = " ".join([SENTENCE] * 22)
    attention = attnviz.load("minilm").trace(text).encoder
    open_page(page, app_url, text=text, layer=3, head=1)
    page.locator(".explorer[data-head='3:1']").wait_for()
    explorer = page.locator(".explorer[data-view]")
    chunks = explorer.evaluate("({ explorer }) => [...explorer.state.store.chunks.keys()]")
    assert chunks[:2] == ["thumbs", "3:1"]
    assert [name[:4] for name in chunks[2:]] == ["row:"]
    page.mouse.click(*head_at(page, 6, 12, 0, 2))
    page.locator(".explorer[data-head='0:2']").wait_for()
    assert head_weights(page)[200] == pytest.approx(attention.weights(0, 2)[200].tolist(), abs=DIGITS)
    choose(page, "Arcs", "tab")
    page.get_by_role("button", name="L0·H5").click()
    expect(page.locator(".chips [aria-pressed=true]")).to_have_count(2)
    settle(page)
    drawn = explorer.evaluate("({ explorer }) => explorer.views.arcs.arcs.filter(([head]) => head === 5).length")
    # Four digits of a weight travel: 0.02996 is 0.0300.
    assert drawn == (attention.weights(0, 5) >= 0.02995).sum()


def test_what_is_hidden_is_owned_up_to_and_a_pair_is_filtered_by_sentence(
    page: Page, app_url: str, encoder: AttentionMap
) -> None:
    open_page(page, app_url, hide_special="true")
    attention = encoder.weights(3, 1)[1:-1]
    hidden = 1 - attention[:, 1:-1].sum() / attention.sum()
    expect(page.get_by_text(re.compile(rf"Hidden tokens hold {100 * hidden:.0f}\s% of the attention"))).to_be_visible()
    assert len(head_weights(page)) == 14
    page.get_by_text("Scale rows up to 1").click()
    expect(page.get_by_text("rows are scaled up to sum to 1")).to_be_visible()
    settle(page)
    assert [sum(value or 0 for value in row) for row in head_weights(page)] == pytest.approx([1] * 14, abs=14 * DIGITS)
    page.get_by_text("Two sentences", exact=True).click()
    expect(page.locator(".story")).to_contain_text("sends “couch” to “sofa”")
    settle(page)
    # A list that opens while the sidebar scrolls closes again.
    between = page.get_by_role("combobox", name="Between sentences")
    between.scroll_into_view_if_needed()
    settle(page)
    between.click()
    page.get_by_role("option", name="Second → first").click()
    settle(page)
    trace = attnviz.load("minilm").trace(attnviz.Prompt("The cat sleeps on the sofa.", pair="A kitten naps on the couch."))
    view = View(hide_special=True, renormalize=True, between="second-first")
    wanted = head_matrix(trace.encoder, layer=2, head=9, view=view).weights
    shown = head_weights(page)
    assert (len(shown), len(shown[0])) == wanted.shape
    assert shown[-1] == pytest.approx(wanted[-1].tolist(), abs=DIGITS)
    # On a phone, too, what was not edited has no before.
    page.set_viewport_size({"width": 320, "height": 568})
    similarity = page.locator(".said")
    assert similarity.locator("td").evaluate("(cell) => getComputedStyle(cell, '::before').content") == "none"
    assert similarity.evaluate("(said) => said.scrollWidth - said.clientWidth") <= 0


def test_hostile_text_shows_as_typed_and_runs_nothing_also_in_bertviz_which_cannot_reach_the_page(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url, text=HOSTILE, view="BertViz")
    assert page.locator("textarea").first.input_value() == HOSTILE
    inside = page.frame_locator("iframe")
    expect(inside.get_by_text("😀").first).to_be_visible()
    assert page.frames[-1].evaluate("window.hacked") is None
    # Its frame cannot reach the page.
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert inside.locator("#bertviz").evaluate("() => self.origin") == "null"
    title = "() => { try { return parent.document.title } catch { return 'refused' } }"
    assert inside.locator("#bertviz").evaluate(title) == "refused"
    expect(page.locator(".words .token").nth(1)).to_have_attribute("title", re.compile("%"))
    afresh = page.locator(".words").inner_html()
    for view in ("Matrix", "Text"):
        choose(page, view, "tab")
        line = page.locator(".text .token" if view == "Text" else ".words .token")
        expect(line.first).to_be_visible()
        shown = "".join(line.all_inner_texts())
        assert all(text in shown for text in ("<script>", "&", '"', "😀", "中文"))
        refuse_hostile(page, ".explorer")
    choose(page, "BertViz", "tab")
    settle(page)
    assert page.locator(".words").inner_html() == afresh
