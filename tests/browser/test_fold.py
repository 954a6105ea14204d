"""The picture is the hero: on every page it stands above the fold with its input, output and sentence, and nothing jumps."""

import json
import re
from collections.abc import Callable
from contextlib import closing

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.jumps import forget_moves, moved
from tests.browser.pages import BEAMER, DESK, LABELS, LEAST_LABEL, PAGES, PHONE, TABLET, serious, settle

# What is typed, what a model makes of it in one line, the sentence that the picture's numbers make.
PARTS = {
    "": ("textarea", "", ".headline"),
    "encode": ("textarea", "", ".headline"),
    "translate": ("textarea", ".answer", ".headline"),
    "answer": ("textarea", ".answer", ".story p"),
    "summarize": ("textarea", ".answer", ".story p"),
    "write": ("textarea", ".story p", ".story p"),
    "heads": ("[class*=st-key-prompt] textarea", "", ".story p"),
    "whatif": ("textarea", "", ".story p"),
    "matters": ("textarea", ".story p + p", ".story p"),
    "compute": (".st-key-tokens, [class*=st-key-prompt]", "", ".sentence, .story p"),
    "train": ('[data-testid="stButtonGroup"]', "", ".story p"),
}
# Where a picture begins, on any page.
PICTURE = ".words .token, [data-pick], .matrix"
TYPED = "[class*=st-key-prompt] textarea"
LEAST_OF_HERO = 0.7
# Of a page that draws all it is told in frames of their own: of one that is fast, browsers call 0.1 good.
MOST_SHIFT = 0.1
# An update that styles so many of a page's elements styles the page; a run needs one or two, and had 13 or more.
WHOLE_PAGE, WHOLE_PAGES = 0.8, 4
# The words of the sentence that a button of the toolbar lies on.
COVERED = """() => {
  const buttons = [...document.querySelectorAll(".st-key-toolbar button")].map((button) => button.getBoundingClientRect());
  return [...document.querySelectorAll(".st-key-heading p, .explorer .hint, .explorer .headline")].filter((text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    return [...range.getClientRects()].some((line) => buttons.some((button) =>
      line.left < button.right && button.left < line.right && line.top < button.bottom && button.top < line.bottom));
  }).map((text) => text.textContent);
}"""
SMALL: ViewportSize = {"width": 1280, "height": 720}
LEAST_OF_SCREEN = 0.75
PICTURES = """() => {
  const boxes = [];
  const look = (root) => {
    for (const each of root.querySelectorAll("canvas[tabindex], svg, .compute, table, .stHtml, p")) {
      const box = each.getBoundingClientRect();
      if (each.checkVisibility() && box.width > 60) boxes.push(box);
    }
    for (const each of root.querySelectorAll("*")) if (each.shadowRoot) look(each.shadowRoot);
  };
  look(document.querySelector(".st-key-hero"));
  const span = (low, high) => Math.max(...boxes.map((box) => box[high])) - Math.min(...boxes.map((box) => box[low]));
  return [span("left", "right") / innerWidth, span("top", "bottom") / innerHeight];
}"""
TOPS = "(all) => all.map((each) => each.getBoundingClientRect().top)"
OVERFLOW = "(main) => [main.scrollWidth - main.clientWidth, main.scrollHeight - main.clientHeight]"


def open_page(page: Page, app_url: str, path: str, query: str = "") -> None:
    page.goto(f"{app_url}/{path}?{'&'.join(filter(None, (PAGES[path], query)))}")
    settle(page)
    expect(page.locator(".st-key-hero")).to_be_visible()
    expect(page.locator(PARTS[path][2]).first).to_be_visible()


def below_the_fold(page: Page, path: str) -> list[str]:
    """What of a page should be seen at once, and is not."""
    height = page.viewport_size["height"] if page.viewport_size else 0
    actual = []
    for name, selector in zip(("input", "output", "sentence"), PARTS[path], strict=True):
        box = page.locator(selector).first.bounding_box() if selector else None
        if selector and (box is None or box["y"] < 0 or box["y"] + box["height"] > height):
            actual.append(f"{name} at {box}")
    hero = page.locator(".st-key-hero").bounding_box()
    assert hero
    seen = (min(hero["y"] + hero["height"], height) - max(hero["y"], 0)) / hero["height"]
    return actual + ([f"{1 - seen:.0%} of the picture, {hero}"] if seen < LEAST_OF_HERO else [])


@pytest.mark.parametrize("path", PARTS, ids=[path or "home" for path in PARTS])
def test_a_page_is_seen_at_once_nothing_jumps_overflows_or_is_serious_and_the_back_row_can_read(
    slow: Page, app_url: str, path: str
) -> None:
    """On one visit, with the folded parts open: at a desk, in smaller windows, on a phone, in the dark, and presented."""
    slow.set_viewport_size(DESK)
    open_page(slow, app_url, path, "all=open&all1=open")
    jumped, parts = moved(slow)
    assert jumped <= MOST_SHIFT, f"{path or 'home'} jumped by {jumped:.3f} while it loaded: {parts}"
    assert not below_the_fold(slow, path)
    # A claim on Heads opens a verdict of its own over the picture: test_heads.py.
    if path != "heads" and slow.locator(TYPED).count():
        stays_when_run(slow, path)
    slow.evaluate("() => { delete window.slowly; }")
    assert slow.evaluate(COVERED) == []
    for width in (1024, 1280):
        slow.set_viewport_size({"width": width, "height": 800})
        settle(slow)
        assert slow.evaluate(COVERED) == [], width
    assert slow.locator("th:empty").count() == 0
    slow.set_viewport_size(SMALL)
    for scrolled in (60, 180, 300):
        slow.get_by_test_id("stMain").evaluate("(main, top) => main.scrollTo(0, top)", scrolled)
        assert slow.evaluate(COVERED) == [], scrolled
    if path == "":
        tops = slow.locator("[class*=st-key-card-example]").evaluate_all(TOPS)
        assert len(set(tops)) > 1
        assert tops.count(tops[0]) == tops.count(tops[-1]), "no card stands alone in its row"
    if path == "encode":
        tops = slow.locator(".bar > :not([hidden])").evaluate_all(TOPS)
        assert max(tops) - min(tops) < 10, "the views, the orders and Edit stand in one row"
        expect(slow.locator(".st-key-head-label p").first).to_have_css("text-align", "start")
    if path == "whatif":
        tops = slow.locator(".compared svg").evaluate_all(TOPS)
        assert len(tops) == 3
        assert max(tops) - min(tops) < 1, "three matrices stand in one row"
    slow.set_viewport_size({"width": 1280, "height": 800})
    assert serious(slow) == []
    coloured = slow.locator(".asked") if path == "answer" else None
    light = coloured.get_attribute("style") if coloured else None
    slow.emulate_media(color_scheme="dark")
    settle(slow)
    if coloured:
        # Figures follow the theme.
        expect(coloured).not_to_have_attribute("style", light or "")
    assert serious(slow, "dark") == []
    fits_a_tablet(slow)
    fits_a_phone(slow)
    fills_a_beamer(slow)


def stays_when_run(page: Page, path: str) -> None:
    forget_moves(page)
    box = page.locator(TYPED).last
    box.fill(f"{box.input_value()} It is so.")
    page.get_by_role("button", name="Run", exact=True).click()
    settle(page)
    jumped, parts = moved(page)
    assert round(jumped, 2) == 0, f"{path or 'home'} jumped by {jumped:.3f} after Run: {parts}"
    assert not below_the_fold(page, path)


def fits_a_tablet(page: Page) -> None:
    page.set_viewport_size(TABLET)
    settle(page)
    columns = page.locator("[data-testid=stMain] [data-testid=stColumn]")
    beyond = columns.evaluate_all("(all) => all.map((each) => each.scrollWidth - each.clientWidth)")
    assert max(beyond, default=0) <= 1


def fits_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)
    settle(page)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("(main) => main.scrollWidth") <= PHONE["width"]
    header = page.get_by_test_id("stHeader")
    alpha = header.evaluate("(header) => getComputedStyle(header).backgroundColor")
    assert not alpha.startswith("rgba") or alpha.endswith(", 1)"), "what is scrolled would be seen through the header"


def fills_a_beamer(page: Page) -> None:
    page.set_viewport_size(BEAMER)
    # A window on the full screen could not be made smaller.
    page.evaluate("() => { document.documentElement.requestFullscreen = undefined; }")
    page.keyboard.press("f")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    settle(page)
    expect(page.locator(".st-key-toolbar")).to_be_hidden()
    small = [(round(size, 1), text[:40]) for size, text in page.evaluate(LABELS) if size < LEAST_LABEL - 0.1]
    assert not small
    assert max(page.evaluate(PICTURES)) >= LEAST_OF_SCREEN
    page.set_viewport_size(SMALL)
    settle(page)
    across, down = page.get_by_test_id("stMain").evaluate(OVERFLOW)
    assert across <= 1, f"{across} px are cut off sideways"
    assert down <= 1, f"{down} px are cut off below"


def test_each_row_that_is_presented_has_its_label(context: BrowserContext, app_url: str) -> None:
    """Of a small beamer's sixteen rows those are shown whose labels have room, and the caption says how many."""
    page = context.new_page()
    page.set_viewport_size(SMALL)
    page.add_init_script("""{
      const { fillText } = CanvasRenderingContext2D.prototype;
      window.labels = new Set();
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        if (this.textAlign === "right" && this.canvas.checkVisibility()) window.labels.add(text);
        return fillText.call(this, text, ...place);
      };
    }""")
    page.goto(
        f"{app_url}/encode?text=The+animal+didn%27t+cross+the+street+because+it+was+too+tired.&layer=3&head=1&present=true"
    )
    settle(page)
    expect(page.locator(".explorer .matrix .caption")).to_have_text(
        re.compile(r"token \(“didn't” has 3\), and where it looks; 1[0-5] of 16 rows$")
    )
    assert page.evaluate("() => labels.size") <= 16
    below_the_first = {"didn", "'", "t", "cross", "the", "street", "because", "it", "was", "too", "tired", "."}
    assert below_the_first <= set(page.evaluate("() => [...labels]"))


def test_the_menu_leads_to_every_page_and_stays_closed_on_a_phone(page: Page, app_url: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, app_url, "encode")
    page.get_by_test_id("stExpandSidebarButton").click()
    links = page.get_by_test_id("stSidebarNavLink")
    expect(links.filter(has_text="Compute")).to_be_visible()
    paths = links.evaluate_all("links => links.map(({ pathname }) => pathname.slice(1))")
    assert set(paths) == set(PARTS) | {"class", "lessons"}
    links.filter(has_text="Compute").click()
    expect(page.locator("h1")).to_have_text("Compute")
    settle(page)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    sidebar = page.get_by_test_id("stSidebar").bounding_box()
    assert sidebar is None or sidebar["x"] + sidebar["width"] <= 0


@pytest.mark.parametrize("path", ["encode", "answer"])
def test_a_run_styles_what_it_changes_and_not_the_whole_page(browser: Browser, page: Page, app_url: str, path: str) -> None:
    """Each change of the page costs its whole length where a selector reaches from `:has` to what no class names."""
    with closing(page.context.new_page()) as measured:
        measured.set_viewport_size(DESK)
        measured.goto(f"{app_url}/{path}")
        settle(measured)
        measured.locator(TYPED).first.fill("An owl saw the old bridge, and it was glad.")
        settle(measured)
        every = measured.evaluate("document.querySelectorAll('body, body *').length")
        counts = styled(browser, measured, measured.get_by_role("button", name="Run", exact=True).click)
    assert len([count for count in counts if count >= WHOLE_PAGE * every]) <= WHOLE_PAGES, f"of {every}: {counts}"


def styled(browser: Browser, page: Page, act: Callable[[], object]) -> list[int]:
    """How many elements each change of the page, from an act until it rests, has given a style."""
    browser.start_tracing(page=page, categories=["-*", "devtools.timeline"])
    act()
    settle(page)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    return [event["args"].get("elementCount", 0) for event in events if event["name"] == "UpdateLayoutTree"]
