"""The picture is the hero: on every page it stands above the fold with its input, output and sentence, and nothing jumps."""

import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from tests.browser.test_encode import PICTURE

DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# What is typed, what a model makes of it in one line, the sentence that the picture's numbers make.
PARTS = {
    "": ("textarea", "", ".story p"),
    "encode": ("textarea", "", ".story p"),
    "translate": ("textarea", ".answer", ".story p"),
    "answer": ("textarea", ".answer", ".story p"),
    "summarize": ("textarea", ".answer", ".story p"),
    "heads": ("[class*=st-key-prompt] textarea", "", ".story p"),
    "compare": ("textarea", "", ".story p"),
    "matters": ("textarea", ".answer", ".st-key-heading p"),
    "ablate": ("textarea", "", ".story p"),
    "compute": (".st-key-tokens, [class*=st-key-prompt]", "", ".sentence, .story p"),
    "train": ('[data-testid="stButtonGroup"]', "", ".story p"),
}
# The slow ways of Matters take a pass of the model for every word.
ASKED = {"matters": "text=Ada+Lovelace+wrote+the+first+program+in+1843.&pair=Who+wrote+the+first+program%3F"}
TYPED = "[class*=st-key-prompt] textarea"
LEAST_OF_HERO = 0.7
MOST_SHIFT = 0.1
# A tab runs what is added to it for every test of the module once for each: one of them watches.
SHIFTS = """
  const isFirst = !window.shifts;
  window.shifts ??= [];
  if (isFirst) new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      const moved = sources.map(({ node }) => node?.dataset?.testid ?? node?.nodeName);
      if (!hadRecentInput) window.shifts.push([value, moved.join(" ")]);
    }
  }).observe({ type: "layout-shift", buffered: true });
"""
each_page = pytest.mark.parametrize("path", PARTS, ids=[path or "home" for path in PARTS])


def open_page(page: Page, app_url: str, path: str, query: str = "") -> None:
    page.goto(f"{app_url}/{path}?{'&'.join(filter(None, (ASKED.get(path), query)))}")
    expect(page.locator(".st-key-hero")).to_be_visible(timeout=PICTURE)
    page.locator(PARTS[path][2]).first.wait_for(timeout=PICTURE)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)
    # The toolbar is the last thing a page draws; it is there, unseen, while a page presents.
    page.locator(".st-key-toolbar button").first.wait_for(state="attached", timeout=PICTURE)
    page.wait_for_timeout(1000)


def shift(page: Page, since: int = 0) -> tuple[float, list]:
    """How far things have jumped, and what did."""
    shifts = page.evaluate("() => window.shifts")[since:]
    return sum(value for value, _ in shifts), shifts


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


def run_again(page: Page) -> None:
    """Runs another text where there is one to run."""
    box = page.locator(TYPED).last
    box.fill(f"{box.input_value()} It is so.")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_timeout(600)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)
    page.wait_for_timeout(600)


@each_page
def test_the_picture_is_seen_at_once_and_nothing_jumps(page: Page, app_url: str, path: str) -> None:
    page.set_viewport_size(DESK)
    page.add_init_script(SHIFTS)
    open_page(page, app_url, path)
    loaded, shifts = shift(page)
    assert loaded <= MOST_SHIFT, f"{path or 'home'} jumped by {loaded:.3f} while it loaded: {shifts}"
    assert not below_the_fold(page, path)
    # A claim on Heads opens a verdict of its own over the picture: test_heads.py.
    if path != "heads" and page.locator(TYPED).count():
        since = len(shifts)
        run_again(page)
        moved, shifts = shift(page, since)
        assert round(moved, 2) == 0, f"{path or 'home'} jumped by {moved:.3f} after Run: {shifts}"
        assert not below_the_fold(page, path)


def test_nothing_jumps_where_every_script_has_yet_to_be_fetched(page: Page, context: BrowserContext, app_url: str) -> None:
    # The server has answered once: where it takes long, less is drawn before the scripts are there.
    open_page(page, app_url, "summarize")
    fresh = context.new_page()
    fresh.set_viewport_size(DESK)
    fresh.add_init_script(SHIFTS)
    open_page(fresh, app_url, "summarize")
    loaded, shifts = shift(fresh)
    assert loaded <= MOST_SHIFT, f"jumped by {loaded:.3f} while it loaded: {shifts}"


@each_page
def test_nothing_overflows_a_phone(page: Page, app_url: str, path: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, app_url, path)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("(main) => main.scrollWidth") <= PHONE["width"]
    header = page.get_by_test_id("stHeader")
    alpha = header.evaluate("(header) => getComputedStyle(header).backgroundColor")
    assert not alpha.startswith("rgba") or alpha.endswith(", 1)"), "what is scrolled would be seen through the header"


def test_the_menu_stays_closed_on_a_phone(page: Page, app_url: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, app_url, "encode")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Compute").click()
    expect(page.locator("h1")).to_have_text("Compute", timeout=PICTURE)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    page.wait_for_timeout(1500)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    sidebar = page.get_by_test_id("stSidebar").bounding_box()
    assert sidebar is None or sidebar["x"] + sidebar["width"] <= 0
