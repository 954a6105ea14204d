"""The present mode of every page: what a classroom's back row reads, in the address, and left again."""

from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.pages import press, settle
from tests.browser.test_fold import each_page, open_page

BEAMER: ViewportSize = {"width": 1920, "height": 1080}
SMALL: ViewportSize = {"width": 1280, "height": 720}
LEAST_LABEL = 28
LEAST_OF_SCREEN = 0.75
# The size on the screen of every text that is seen, in the page and in components; indices of a formula belong to their letter.
LABELS = """() => {
  const labels = [];
  const look = (root) => {
    for (const each of root.querySelectorAll("*")) {
      if (each.shadowRoot) look(each.shadowRoot);
      const size = parseFloat(getComputedStyle(each).fontSize);
      const isSeen = each.checkVisibility() && !each.closest("sub, sup, style, .live, output, [aria-hidden=true].note");
      const { width, height } = each.getBoundingClientRect();
      if (!isSeen || width <= 2 || height <= 2) continue;
      const text = [...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
      const at = each.ownerSVGElement && each.getScreenCTM();
      // Of what is turned, too.
      const scale = at ? Math.hypot(at.a, at.b) : (each.currentCSSZoom ?? 1);
      if (text) labels.push([size * scale, text]);
      const drawn = each.matches("canvas[tabindex]") && each.getContext("2d").font.match(/([\\d.]+)px/);
      if (drawn) labels.push([Number(drawn[1]) * scale, "a canvas"]);
    }
  };
  look(document.querySelector("[data-testid=stMain]"));
  return labels;
}"""
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
OVERFLOW = "(main) => [main.scrollWidth - main.clientWidth, main.scrollHeight - main.clientHeight]"


@each_page
def test_presenting_fills_the_screen_with_what_the_back_row_can_read(page: Page, app_url: str, path: str) -> None:
    page.set_viewport_size(BEAMER)
    open_page(page, app_url, path, "present=true")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(".st-key-toolbar")).to_be_hidden()
    small = [(round(size, 1), text[:40]) for size, text in page.evaluate(LABELS) if size < LEAST_LABEL - 0.1]
    assert not small
    assert max(page.evaluate(PICTURES)) >= LEAST_OF_SCREEN
    page.set_viewport_size(SMALL)
    settle(page)
    across, down = page.get_by_test_id("stMain").evaluate(OVERFLOW)
    assert across <= 1, f"{across} px are cut off sideways"
    assert down <= 1, f"{down} px are cut off below"


def test_one_press_presents_arrows_move_and_escape_returns(page: Page, app_url: str) -> None:
    open_page(page, app_url, "encode")
    page.get_by_role("button", name="Present").click()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    expect(page.locator(".explorer[data-presenting][data-view]")).to_be_visible()
    page.wait_for_url("**present=true*")
    press(page, "ArrowRight", "Enter")
    expect(page.locator(".where")).to_contain_text("head 2 of layer 3")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.wait_for_url(lambda url: "present" not in url)


def test_the_key_f_presents_unless_it_is_typed(page: Page, app_url: str) -> None:
    open_page(page, app_url, "encode")
    page.locator("textarea").first.focus()
    page.keyboard.press("f")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.locator("textarea").first.blur()
    page.keyboard.press("f")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    page.keyboard.press("f")
    expect(page.get_by_test_id("stSidebar")).to_be_visible()


def test_the_steps_of_a_computation_move_while_it_presents(page: Page, app_url: str) -> None:
    open_page(page, app_url, "compute", "present=true&at=0,0,0")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".compute[data-step='1']")).to_be_visible()


def test_back_leaves_presenting_too(page: Page, app_url: str) -> None:
    open_page(page, app_url, "compute")
    page.keyboard.press("f")
    page.wait_for_url("**present=true*")
    page.go_back()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
