"""The Encode page as a person uses it: type, look, click, share, and type what no model expects."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import attnviz
from attnviz.analysis.view import head_matrix
from attnviz.core.trace import AttentionMap

SENTENCE = "The animal didn't cross the street because it was too tired."
HOSTILE = '<script>window.hacked=1</script> </script> <img src=x onerror="window.hacked=1"> a&b "q" مرحبا 😀 中文'
# A cold server on a busy machine takes its time to load the first model.
PICTURE = 60_000
# The explorer keeps four digits of a weight.
DIGITS = 5.1e-5


@pytest.fixture(scope="module")
def encoder() -> AttentionMap:
    return attnviz.load("minilm").trace(SENTENCE).encoder


def open_page(page: Page, app_url: str, path: str = "encode", **parameters: str | int | list[str]) -> None:
    page.goto(f"{app_url}/{path}?{urlencode(parameters, doseq=True)}")
    expect(page.locator("textarea").first).to_be_visible(timeout=PICTURE)
    settle(page)


def settle(page: Page) -> None:
    """Until the script has run to its end and the picture stands, or a message in its place."""
    page.locator(
        '.js-plotly-plot .hm, .answered, .explorer[data-view], .alignment[data-hero], [data-testid="stAlert"]'
    ).first.wait_for(timeout=PICTURE)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)
    page.wait_for_timeout(400)


def run(page: Page, text: str) -> None:
    page.locator("textarea").first.fill(text)
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_timeout(400)
    settle(page)


def parameters(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def drawn_weights(page: Page) -> list[list[float | None]]:
    """What Plotly holds of the last heatmap trace: the cells, not the masked ones under them."""
    page.locator(".js-plotly-plot .hm").first.wait_for(timeout=PICTURE)
    return page.evaluate(
        """() => {
          const data = document.querySelector(".js-plotly-plot")._fullData.filter((trace) => trace.type === "heatmap").at(-1);
          return Array.from(data.z, (row) => Array.from(row, (cell) => (Number.isFinite(cell) ? cell : null)));
        }"""
    )


def head_weights(page: Page) -> list[list[float | None]]:
    """The weights of the head in view, as the explorer's script has unpacked them; None where masked."""
    page.locator(".explorer[data-head*=':']").wait_for(timeout=PICTURE)
    return page.locator(".explorer[data-view]").evaluate(
        """({ explorer }) => {
          const head = explorer.state.current;
          const row = (query) => Array.from({ length: head.nKeys }, (_, key) =>
            head.masked(query, key) ? null : head.weight(query, key));
          return Array.from({ length: head.nQueries }, (_, query) => row(query));
        }"""
    )


def choose(page: Page, name: str, role: str = "radio") -> None:
    page.get_by_role(role, name=name, exact=True).click()
    page.wait_for_timeout(400)
    settle(page)


def head_at(page: Page, encoder: AttentionMap, layer: int, head: int) -> tuple[float, float]:
    """The middle of a head's picture in the grid, from the canvas's own size: a margin of 30 by 26, then equal cells."""
    box = page.locator("canvas.heads").bounding_box()
    assert box
    width, height = (box["width"] - 30) / encoder.n_heads, (box["height"] - 26) / encoder.n_layers
    return box["x"] + 30 + (head + 0.5) * width, box["y"] + 26 + (layer + 0.5) * height


def cell_at(page: Page, query: int, key: int) -> tuple[float, float]:
    """The middle of a cell of the matrix."""
    page.locator(".explorer[data-head*=':']").wait_for(timeout=PICTURE)
    x, y = page.locator(".explorer[data-view]").evaluate(
        """({ explorer: { views: { matrix } } }, [query, key]) => {
          const { left, top, cell } = matrix.size;
          const box = matrix.canvas.getBoundingClientRect();
          return [box.x + left + (key + 0.5 - matrix.window.x) * cell, box.y + top + (query + 0.5 - matrix.window.y) * cell];
        }""",
        [query, key],
    )
    return x, y


def test_the_first_visit_shows_the_models_own_weights(page: Page, app_url: str, encoder: AttentionMap) -> None:
    open_page(page, app_url)
    shown = head_weights(page)
    expected = encoder.weights(3, 1)
    assert len(shown) == len(expected) == 16
    for row, wanted in zip(shown, expected, strict=True):
        assert row == pytest.approx(wanted.tolist(), abs=DIGITS)
    expect(page.locator(".story")).to_contain_text("L3·H1 sends “it” to “animal” with weight 0.68")


def test_a_click_in_the_grid_opens_that_head_and_is_in_the_address(page: Page, app_url: str, encoder: AttentionMap) -> None:
    open_page(page, app_url)
    page.mouse.click(*head_at(page, encoder, 0, 2))
    expect(page.locator(".story")).to_contain_text("a previous-token head", timeout=PICTURE)
    settle(page)
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("0", "2")
    assert head_weights(page)[5] == pytest.approx(encoder.weights(0, 2)[5].tolist(), abs=DIGITS)


def test_hovering_a_head_tells_its_numbers_and_keys_reach_every_head(page: Page, app_url: str, encoder: AttentionMap) -> None:
    open_page(page, app_url)
    page.mouse.move(*head_at(page, encoder, 3, 1))
    expect(page.locator(".note")).to_contain_text("it → animal  0.677")
    page.locator("canvas.heads").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".note")).to_contain_text("L4·H1")
    page.keyboard.press("Enter")
    expect(page.locator(".story")).to_contain_text("L4·H1", timeout=PICTURE)


def test_a_click_on_a_cell_selects_its_row_and_its_column(page: Page, app_url: str) -> None:
    open_page(page, app_url, view="matrix")
    page.mouse.click(*cell_at(page, 6, 8))
    expect(page.locator(".story")).to_contain_text("sends “cross” to “street”", timeout=PICTURE)
    settle(page)
    assert (parameters(page)["query"], parameters(page)["key"]) == ("6", "8")
    expect(page.locator(".strip .query")).to_have_text("cross")


def test_the_address_opens_the_same_picture_in_another_browser(context: BrowserContext, app_url: str) -> None:
    first = context.new_page()
    open_page(first, app_url)
    run(first, "My sister gave her dog a bath; unbelievably, it enjoyed splashing.")
    for name in ("Merge subwords to words", "Hide special tokens"):
        first.get_by_text(name).click()
        settle(first)
    choose(first, "Fit to this head")
    choose(first, "Matrix", "tab")
    second = context.new_page()
    second.goto(first.url)
    settle(second)
    assert head_weights(second) == head_weights(first)
    assert second.locator(".story").inner_text() == first.locator(".story").inner_text()
    assert second.locator("textarea").first.input_value() == first.locator("textarea").first.input_value()
    expect(second.get_by_role("tab", name="Matrix", exact=True)).to_have_attribute("aria-selected", "true")


def test_a_long_text_comes_head_by_head(page: Page, app_url: str) -> None:
    text = " ".join([SENTENCE] * 22)
    attention = attnviz.load("minilm").trace(text).encoder
    open_page(page, app_url, text=text)
    page.locator(".explorer[data-head='3:1']").wait_for(timeout=PICTURE)
    explorer = page.locator(".explorer[data-view]")
    assert explorer.evaluate("({ explorer }) => [...explorer.state.store.chunks.keys()]") == ["thumbs", "3:1"]
    page.mouse.click(*head_at(page, attention, 0, 2))
    page.locator(".explorer[data-head='0:2']").wait_for(timeout=PICTURE)
    assert head_weights(page)[200] == pytest.approx(attention.weights(0, 2)[200].tolist(), abs=DIGITS)
    choose(page, "Arcs", "tab")
    page.get_by_role("button", name="L0·H5").click()
    expect(page.locator(".chips [aria-pressed=true]")).to_have_count(2)
    settle(page)
    page.wait_for_timeout(1000)
    drawn = explorer.evaluate("({ explorer }) => explorer.views.arcs.arcs.filter(([head]) => head === 5).length")
    # Four digits of a weight travel: 0.02996 is 0.0300.
    assert drawn == (attention.weights(0, 5) >= 0.02995).sum()


def test_hidden_tokens_are_owned_up_to(page: Page, app_url: str, encoder: AttentionMap) -> None:
    open_page(page, app_url, hide_special="true")
    attention = encoder.weights(3, 1)[1:-1]
    hidden = 1 - attention[:, 1:-1].sum() / attention.sum()
    expect(page.get_by_text(re.compile(rf"What is hidden holds {hidden:.0%} of the attention"))).to_be_visible()
    assert len(head_weights(page)) == 14
    page.get_by_text("Scale rows up to 1").click()
    expect(page.get_by_text("rows are scaled up to sum to 1")).to_be_visible()
    settle(page)
    assert [sum(value or 0 for value in row) for row in head_weights(page)] == pytest.approx([1] * 14, abs=14 * DIGITS)


def test_a_pair_is_filtered_by_sentence(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_text("Two sentences", exact=True).click()
    expect(page.locator(".story")).to_contain_text("sends “couch” to “sofa”", timeout=PICTURE)
    settle(page)
    open_page(page, app_url, **parameters(page), between="second-first")
    trace = attnviz.load("minilm").trace(attnviz.Prompt("The cat sleeps on the sofa.", pair="A kitten naps on the couch."))
    whole = head_matrix(trace.encoder, layer=2, head=9)
    rows = [index for index, token in enumerate(whole.queries) if token.segment == 1]
    columns = [index for index, token in enumerate(whole.keys) if token.segment == 0]
    shown = head_weights(page)
    assert (len(shown), len(shown[0])) == (len(rows), len(columns))
    assert shown[-1] == pytest.approx(whole.weights[rows[-1], columns].tolist(), abs=DIGITS)


@pytest.mark.parametrize("view", ["grid", "matrix", "text", "BertViz"])
def test_hostile_text_shows_as_typed_and_runs_nothing(page: Page, app_url: str, view: str) -> None:
    open_page(page, app_url, text=HOSTILE, view=view)
    settle(page)
    assert page.locator("textarea").first.input_value() == HOSTILE
    if view != "BertViz":
        line = page.locator(".text .token" if view == "text" else ".strip .token")
        expect(line.first).to_be_visible()
        assert {"<", ">", "script", "&", '"', "😀", "中", "文"} <= set(line.all_inner_texts())
        assert page.locator(".explorer script, .explorer img").count() == 0
    if view == "BertViz":
        frame = page.frame_locator("iframe")
        expect(frame.get_by_text("😀").first).to_be_visible(timeout=PICTURE)
        assert page.frames[-1].evaluate("window.hacked") is None
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "There is nothing to read yet: type a sentence first."),
        (" \n  ", "There is nothing to read yet: type a sentence first."),
        ("word " * 20_000, "minilm reads 512 tokens at most: the text was cut after character 2,549 of 100,000."),
    ],
    ids=["empty", "spaces", "20,000 words"],
)
def test_text_that_cannot_be_read_whole_gets_one_sentence_and_is_kept(
    page: Page, app_url: str, text: str, message: str
) -> None:
    open_page(page, app_url)
    run(page, text)
    expect(page.get_by_test_id("stAlert")).to_have_count(1)
    expect(page.get_by_test_id("stAlert")).to_contain_text(message)
    assert page.locator("textarea").first.input_value() == text
    run(page, "It works again.")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(page.locator(".strip")).to_contain_text("works")


def test_one_character_is_a_sentence(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    run(page, "a")
    expect(page.locator(".strip .token")).to_have_text(["[CLS]", "a", "[SEP]"])
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_a_nul_byte_in_the_address_is_refused_in_one_sentence(page: Page, app_url: str) -> None:
    open_page(page, app_url, text="half\x00way")
    expect(page.get_by_test_id("stAlert")).to_contain_text("The text holds a NUL byte")
    run(page, "It works again.")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_a_text_of_more_than_100_tokens_is_not_handed_to_bertviz(page: Page, app_url: str) -> None:
    open_page(page, app_url, view="BertViz", text="word " * 120)
    expect(page.get_by_test_id("stAlert")).to_contain_text("open Grid instead")
    choose(page, "Grid", "tab")
    expect(page.locator("canvas.heads")).to_be_visible()


def test_two_browsers_at_once_see_their_own_sentences(context: BrowserContext, app_url: str) -> None:
    pages = [context.new_page() for _ in range(2)]
    words = ["gardens", "violins"]
    for page in pages:
        open_page(page, app_url)
    for page, word in zip(pages, words, strict=True):
        page.locator("textarea").first.fill(f"The {word} were lovely.")
    for page in pages:
        page.get_by_role("button", name="Run", exact=True).click()
    for page, word in zip(pages, words, strict=True):
        expect(page.locator(".strip")).to_contain_text(word, timeout=PICTURE)


def test_home_opens_a_head_and_an_example(page: Page, app_url: str, encoder: AttentionMap) -> None:
    page.goto(app_url)
    page.locator("canvas.heads").wait_for(timeout=PICTURE)
    settle(page)
    page.mouse.click(*head_at(page, encoder, 1, 8))
    page.wait_for_url("**/encode?*", timeout=PICTURE)
    expect(page.locator(".story")).to_contain_text("L1·H8", timeout=PICTURE)
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Home").click()
    # Encode has an example of that name too: it must be gone before one is clicked.
    expect(page.locator("h1")).to_have_text("attnviz", timeout=PICTURE)
    settle(page)
    page.get_by_text("Garden path").click()
    expect(page.locator(".story")).to_contain_text("L3·H1 sends “fell” to “horse”", timeout=PICTURE)
    assert page.locator("textarea").first.input_value() == "The horse raced past the barn fell."


def test_two_sentences_stand_above_each_other_in_the_same_head(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_test_id("stMain").get_by_text("Compare", exact=True).click()
    other = page.locator(".st-key-compared .story")
    expect(other).to_contain_text("L3·H1 sends “it” to “animal” with weight 0.28", timeout=PICTURE)
    settle(page)
    assert parameters(page)["other"] == SENTENCE.replace("tired", "wide")
    assert page.locator(".explorer[data-view=text]").count() == 2
    shades = page.locator(".text .token.query")
    expect(shades).to_have_text(["it", "it"])
    page.reload()
    expect(other).to_contain_text("0.28", timeout=PICTURE)
    settle(page)
    page.get_by_role("tab", name="Arcs").click()
    expect(page.locator(".explorer[data-view=arcs]")).to_have_count(2, timeout=PICTURE)
    page.get_by_test_id("stMain").get_by_text("Compare", exact=True).click()
    expect(page.locator(".st-key-compared")).to_have_count(0, timeout=PICTURE)
    settle(page)
    assert "other" not in parameters(page)
