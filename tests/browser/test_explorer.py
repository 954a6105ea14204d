"""The explorer as a file that is opened from disk: true, whole without a network, and at hand without a mouse."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from attnviz import AttentionMap, AttentionTrace, Prompt, Token
from attnviz.analysis.head_view import word_names
from attnviz.analysis.wording import percent
from attnviz.core.trace import DenseWeights
from attnviz.figures.explorer import frame, page
from attnviz.figures.theme import DARK, LIGHT, Theme, rgb
from tests.browser.pages import cell_at, head_at, serious, settle
from tests.factories import make_map, numbered, typed

HOSTILE = (
    "<script>window.hacked=1</script>", "</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>", "a&b", "&lt;", '"', "مرحبا", "🙂", "中文", "\u2028",
)  # fmt: skip
WORDS = "the cat sat on the mat because it was tired of all the running"


def trace_of(*maps: AttentionMap, text: str = "a text") -> AttentionTrace:
    return AttentionTrace("a model", Prompt(text), maps)


def show(opened: Page, folder: Path, trace: AttentionTrace, **options) -> None:
    path = folder / "explorer.html"
    path.write_text(page(trace, **options), encoding="utf-8")
    opened.goto(path.as_uri())
    opened.locator(".explorer[data-head*=':']").wait_for()


def view(opened: Page, name: str) -> None:
    opened.get_by_role("tab", name=name, exact=True).click()
    opened.locator(f".explorer[data-view={name.lower()}]").wait_for()


def pixel(opened: Page, selector: str, x: float, y: float) -> list[int]:
    """The colour that a canvas has under a point of the window."""
    return opened.locator(selector).evaluate(
        """(canvas, [x, y]) => {
          const box = canvas.getBoundingClientRect();
          const scale = canvas.width / box.width;
          const at = [(x - box.x) * scale, (y - box.y) * scale].map(Math.floor);
          return Array.from(canvas.getContext("2d").getImageData(...at, 1, 1).data.slice(0, 3));
        }""",
        [x, y],
    )


def open_head(opened: Page, attention: AttentionMap, layer: int, head: int) -> None:
    opened.mouse.click(*head_at(opened, attention.n_layers, attention.n_heads, layer, head))
    opened.locator(f".explorer[data-head='{layer}:{head}']").wait_for()


def test_it_opens_where_it_was_told_to(page: Page, tmp_path: Path) -> None:
    encoder, cross = example("encoder"), example("cross")
    show(page, tmp_path, trace_of(encoder, cross), opens=("encoder", 2, 3))
    expect(page.locator(".explorer")).to_have_attribute("data-head", "2:3")
    expect(page.locator(".kinds select")).to_have_value("0")


def example(kind: str) -> AttentionMap:
    if kind == "cross":
        return make_map(typed(WORDS), numbered(23), layers=3, heads=5)
    return make_map(typed(WORDS), layers=3, heads=5, causal=kind == "decoder")


def test_of_a_masked_map_colours_and_numbers_are_its_weights(page: Page, tmp_path: Path) -> None:
    attention = example("decoder")
    show(page, tmp_path, trace_of(attention), theme=DARK)
    hovering_tells(page, attention, DARK)
    open_head(page, attention, 0, 0)
    text_is_shaded(page, attention, DARK)


def hovering_tells(page: Page, attention: AttentionMap, theme: Theme) -> None:
    """The weight in words, and by the colour of the pixel."""
    generator = np.random.default_rng(5)
    for _ in range(5):
        layer, head, query, key = (int(generator.integers(size)) for size in (3, 5, *attention.weights(0, 0).shape))
        open_head(page, attention, layer, head)
        x, y = cell_at(page, query, key)
        page.mouse.move(x, y)
        weight, seen = float(attention.weights(layer, head)[query, key]), attention.visible(layer)[query, key]
        names = f"{attention.queries[query].text} → {attention.keys[key].text}"
        expect(page.locator(".note")).to_contain_text(names)
        expect(page.locator(".note")).to_contain_text(f"weight {weight:.4f}" if seen else "masked")
        colour = rgb(theme.colour(weight) if seen else theme.masked)
        # Beside the crosshair's lines and the label, which lie on a canvas of their own.
        assert pixel(page, "canvas.cells", x, y) == pytest.approx(colour, abs=1)


def test_a_bright_cell_is_seen_where_many_share_a_pixel(page: Page, tmp_path: Path) -> None:
    count = 900
    weights = np.full((1, 1, count, count), 0, dtype=np.float32)
    weights[..., 0] = 1
    weights[0, 0, 617] = 0
    weights[0, 0, 617, 404] = 1
    attention = AttentionMap("encoder", numbered(count), numbered(count), DenseWeights((weights[0],)))
    show(page, tmp_path, trace_of(attention), theme=LIGHT)
    view(page, "Matrix")
    x, y = cell_at(page, 617, 404)
    actual = [pixel(page, "canvas.cells", x + step, y + other) for step in (-1, 0, 1) for other in (-1, 0, 1)]
    assert list(rgb(LIGHT.colour(1.0))) in actual
    page.mouse.move(x, y)
    for _ in range(6):
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        settle(page)
    expect(page.locator(".note")).to_contain_text("→")
    cells = page.locator(".explorer").evaluate("({ explorer: { views: { matrix } } }) => matrix.size.shown.keys")
    assert cells < count / 8


def test_of_a_map_over_two_texts_colours_links_and_arcs_are_its_weights_and_what_is_left_out_is_told(
    page: Page, tmp_path: Path
) -> None:
    attention = example("cross")
    show(page, tmp_path, trace_of(attention))
    expect(page.locator(".fact")).to_have_text(f"{len(attention.queries)} × {len(attention.keys)} tokens · 15 heads")
    table_has_the_strongest_links(page, attention)
    hovering_tells(page, attention, LIGHT)
    page.get_by_role("tab", name="Grid", exact=True).click()
    arcs_are_the_weights(page, attention)


def arcs_are_the_weights(page: Page, attention: AttentionMap) -> None:
    open_head(page, attention, 1, 2)
    view(page, "Arcs")
    page.get_by_role("button", name="L1·H4").click()
    settle(page)
    arcs = page.locator(".explorer").evaluate("({ explorer: { views: { arcs } } }) => arcs.arcs")
    drawn = {(head, query, key): weight for head, query, key, _, weight in arcs}
    weights = attention.layer_weights(1)
    expected = {
        (head, query, key): weights[head, query, key]
        for head in (2, 4)
        for query, key in np.argwhere(weights[head] >= 0.02995).tolist()
    }
    assert {cell: pytest.approx(weight, abs=6e-5) for cell, weight in expected.items()} == drawn
    left_out = 1 - sum(expected.values()) / weights[[2, 4]].sum()
    expect(page.locator(".pane.arcs")).to_contain_text(f"Left out: {percent(float(left_out))} of")
    page.get_by_label("Show links").fill("0.2")
    settle(page)
    fewer = page.locator(".explorer").evaluate("({ explorer: { views: { arcs } } }) => arcs.arcs.length")
    assert fewer == (weights[[2, 4]] >= 0.19995).sum()


def test_heads_as_small_arcs_lead_from_who_looks_to_whom(page: Page, tmp_path: Path) -> None:
    straight, crossed = np.eye(4, dtype=np.float32), np.eye(4, dtype=np.float32)[::-1]
    attention = AttentionMap("encoder", numbered(4), numbered(4), DenseWeights((np.stack([straight, crossed]),)))
    show(page, tmp_path, trace_of(attention), theme=LIGHT)
    page.get_by_label("Heads drawn").select_option("arcs")
    box = page.locator("canvas.heads").bounding_box()
    assert box
    width, height = (box["width"] - 30) / 2, box["height"] - 26

    def drawn(head: int, x: float, y: float) -> bool:
        at = box["x"] + 30 + head * width + x * (width - 3), box["y"] + 26 + y * (height - 3)
        return pixel(page, "canvas.heads", *at) != list(rgb(LIGHT.panel))

    # Four lines across, in the middle of the quarters; or all four through the middle.
    assert [drawn(0, 0.3, y) for y in (0.125, 0.25, 0.375, 0.5, 0.625)] == [True, False, True, False, True]
    assert [drawn(1, 0.5, y) for y in (0.125, 0.25, 0.375, 0.5, 0.625)] == [False, False, False, True, False]


def text_is_shaded(page: Page, attention: AttentionMap, theme: Theme) -> None:
    """By what a token gives, and by what it receives."""
    view(page, "Text")
    page.locator(".text .token").nth(5).hover()
    weights, seen = attention.weights(0, 0), attention.visible(0)
    for gives, row, visible in ((True, weights[5], seen[5]), (False, weights[:, 5], seen[:, 5])):
        page.get_by_role("button", name="gives" if gives else "receives").click()
        page.locator(".text .token").nth(5).hover()
        titles = page.locator(".text .token").evaluate_all("tokens => tokens.map(({ title }) => title)")
        assert titles == [f"{weight:.4f}" if shown else "masked" for weight, shown in zip(row.tolist(), visible, strict=True)]
        shades = page.locator(".text .token").evaluate_all("tokens => tokens.map(({ style }) => style.backgroundColor)")
        colours = [
            rgb(theme.colour(weight) if shown else theme.masked) for weight, shown in zip(row.tolist(), visible, strict=True)
        ]
        for shade, colour in zip(shades, colours, strict=True):
            assert [int(part) for part in shade[4:-1].split(",")] == pytest.approx(colour, abs=1)


def test_one_weight_is_a_map_like_any_other(page: Page, tmp_path: Path) -> None:
    show(page, tmp_path, trace_of(make_map(numbered(1), numbered(1), layers=1, heads=1)))
    for name in ("Matrix", "Arcs", "Text", "Grid"):
        view(page, name)
    expect(page.locator(".fact")).to_have_text("1 × 1 tokens · 1 head")


def test_hostile_tokens_are_text_and_nothing_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    tokens = tuple(Token(text, 0, 1) for text in HOSTILE)
    trace = AttentionTrace(HOSTILE[1], Prompt(HOSTILE[0], pair=HOSTILE[2]), (make_map(tokens), make_map(numbered(3), tokens)))
    context = browser.new_context(offline=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    show(opened, tmp_path, trace)
    for kind in ("encoder", "cross"):
        opened.get_by_label("Attention").first.select_option(label=kind)
        for name in ("Matrix", "Arcs", "Text", "Grid"):
            view(opened, name)
        opened.mouse.move(*cell_at(opened, 2, 1))
        opened.locator(".links summary").click()
    shown = [text.replace("\u2028", "␣") for text in HOSTILE]
    assert opened.locator(".words .token[data-axis=keys]").all_inner_texts() == shown
    expect(opened.locator("h1")).to_have_text(HOSTILE[1])
    assert opened.evaluate("window.hacked") is None
    assert opened.locator("img, svg").count() == 0
    assert [url.split("/")[-1] for url in asked] == ["explorer.html"]
    assert not problems
    context.close()


def test_everything_is_reached_by_keyboard(page: Page, tmp_path: Path) -> None:
    attention = example("encoder")
    show(page, tmp_path, trace_of(attention))
    keys = page.keyboard
    focused = "document.activeElement.className || document.activeElement.dataset.view || document.activeElement.tagName"

    def tab_to(name: str) -> None:
        for _ in range(30):
            if page.evaluate(focused) == name:
                return
            keys.press("Tab")
        pytest.fail(f"{name} is not reached by Tab")

    tab_to("heads")
    outline = page.locator("canvas.heads").evaluate("canvas => getComputedStyle(canvas).outlineStyle")
    assert outline == "solid"
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        keys.press(key)
    page.locator(".explorer[data-head='1:2']").wait_for()
    assert page.evaluate(focused) == "cells"
    selected = "({ explorer: { state } }) => [state.query, state.key]"
    query, key = page.locator(".explorer").evaluate(selected)
    step = "ArrowUp" if query else "ArrowDown"
    keys.press(step)
    moved = query + (1 if step == "ArrowDown" else -1)
    expect(page.locator(".note")).to_contain_text(f"weight {attention.weights(1, 2)[moved, key]:.4f}")
    expect(page.locator(".live")).to_contain_text(f"{attention.weights(1, 2)[moved, key]:.4f}")
    keys.press("Enter")
    assert page.locator(".explorer").evaluate(selected) == [moved, key]
    keys.press("+")
    settle(page)
    assert page.locator(".explorer").evaluate("({ explorer: { views: { matrix } } }) => matrix.window.zoom") > 1
    keys.press("Escape")
    settle(page)
    keys.press("Escape")
    assert page.evaluate(focused) == "heads"
    keys.press("Shift+Tab")
    tab_to("grid")
    for name in ("matrix", "arcs"):
        keys.press("ArrowRight")
        page.locator(f".explorer[data-view={name}]").wait_for()
    tab_to("arcs")
    tab_to("BUTTON")
    keys.press("Tab")
    keys.press("Space")
    assert page.locator(".chips [aria-pressed=true]").count() == 2
    page.locator(".chips button").first.focus()
    tab_to("arcs")
    keys.press("ArrowDown")
    assert page.locator(".explorer").evaluate("({ explorer: { views: { arcs } } }) => arcs.pointed.axis") == "queries"
    keys.press("Escape")
    keys.press("Escape")
    page.locator(".explorer[data-view=grid]").wait_for()
    page.get_by_role("tab", name="Text").focus()
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Tab")
    assert "token" in page.evaluate(focused)
    keys.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    keys.press("Enter")
    assert page.locator(".explorer").evaluate(selected)[0] == 1


def test_a_matrix_takes_presses_that_begin_on_it_and_leaves_the_browser_its_keys(page: Page, tmp_path: Path) -> None:
    show(page, tmp_path, trace_of(example("encoder")))
    view(page, "Matrix")
    page.mouse.click(*cell_at(page, 1, 2))
    explorer, mouse, there = page.locator(".explorer"), page.mouse, cell_at(page, 3, 4)
    mouse.down()
    mouse.move(1, 1)
    mouse.up()
    mouse.move(*there)
    expect(page.locator(".note")).to_be_visible()
    mouse.click(*there, button="right")
    mouse.move(1, 1)
    mouse.down()
    mouse.move(*there)
    mouse.up()
    assert explorer.evaluate("({ explorer: { state } }) => [state.query, state.key]") == [1, 2]
    page.evaluate("taken = []; addEventListener('keydown', (event) => taken.push(event.defaultPrevented))")
    page.locator("canvas.cells").focus()
    for key in ("Control+-", "Control+0", "Alt+ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.get_by_role("tab", name="Text").focus()
    page.keyboard.press("Alt+ArrowLeft")
    # The keys that are held count, too.
    assert page.evaluate("taken") == [False, False] * 3 + [True] + [False] * 2
    assert explorer.get_attribute("data-view") == "matrix"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_axe_finds_nothing_serious_and_a_narrow_window_has_everything(page: Page, tmp_path: Path, theme: Theme) -> None:
    show(page, tmp_path, trace_of(example("encoder"), example("decoder"), example("cross")), theme=theme)
    page.set_viewport_size({"width": 360, "height": 740})
    for name in ("Matrix", "Arcs", "Text", "Grid"):
        view(page, name)
        settle(page)
        assert serious(page, theme.name) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        beyond = page.locator(".pane").evaluate_all("all => all.map((pane) => pane.scrollWidth - pane.clientWidth)")
        assert max(beyond) <= 0, name
    open_head(page, example("encoder"), 2, 3)
    page.locator(".explorer[data-view=matrix]").wait_for()


def table_has_the_strongest_links(page: Page, attention: AttentionMap) -> None:
    page.locator(".links summary").click()
    rows = page.locator(".links tbody tr").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    weights = attention.weights(0, 0)
    strongest = np.argsort(-weights, axis=None)[:10]
    # Words that are alike have a number each.
    looking, seen = word_names(attention.queries), word_names(attention.keys)
    for row, cell in zip(rows, strongest, strict=True):
        query, key = np.unravel_index(cell, weights.shape)
        assert row == [looking[query], seen[key], f"{weights[query, key]:.4f}"]


def test_the_table_has_a_name_before_its_head_is_there(page: Page, tmp_path: Path) -> None:
    page = page.context.new_page()
    page.add_init_script("window.requestAnimationFrame = () => 0")
    show(page, tmp_path, trace_of(example("encoder")))
    assert page.locator(".links tbody tr").count() == 0
    expect(page.locator(".links summary")).to_have_text("Strongest links, as a table")
    page.close()


def test_a_notebook_shows_a_trace_in_a_frame(page: Page, tmp_path: Path) -> None:
    trace = trace_of(make_map(tuple(Token(text, 0, 1) for text in HOSTILE)))
    assert trace._repr_html_() == frame(trace)
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><p>above</p>{trace._repr_html_()}<p>below</p>", encoding="utf-8")
    page.goto(path.as_uri())
    inside = page.frame_locator("iframe")
    inside.locator(".explorer[data-head*=':']").wait_for()
    assert inside.locator(".words .token").count() == len(HOSTILE)
    expect(page.locator("body > p")).to_have_text(["above", "below"])
