"""What the tests do on the app's pages in a browser, and what they read there."""

from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.harness import PATIENCE, forget, until

SENTENCE = "The animal didn't cross the street because it was too tired."
HOSTILE = '<script>window.hacked=1</script> </script> <img src=x onerror="window.hacked=1"> a&b "q" مرحبا 😀 中文'
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
TABLET: ViewportSize = {"width": 834, "height": 1194}
BEAMER: ViewportSize = {"width": 1920, "height": 1080}
LEAST_LABEL = 28
# Whether a box is left the Enter that ends a composition in Safari.
COMPOSED = """box => box.dispatchEvent(
  new KeyboardEvent("keydown", { key: "Enter", keyCode: 229, bubbles: true, cancelable: true }))"""
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
# Every page, with a query that is soon computed: the slow methods of Matters take a pass of the model for every word.
PAGES = {
    "": "", "encode": "", "translate": "", "answer": "", "summarize": "", "write": "", "heads": "", "whatif": "",
    "matters": "text=Ada+Lovelace+wrote+the+first+program+in+1843.&pair=Who+wrote+the+first+program%3F",
    "compute": "", "train": "",
}  # fmt: skip
# What breaks no rule is counted only once: to list all of it took half of the time. In the dark the same elements have other
# colours, and nothing else.
_BROKEN = {"resultTypes": ["violations"], "preload": False}
RULES = {"light": _BROKEN, "dark": _BROKEN | {"runOnly": ["color-contrast"]}}
# Streamlit's own parts, which a page cannot change.
NOT_OURS = {"include": [["body"]], "exclude": [['[data-testid="stToolbar"]']]}


def open_page(page: Page, app_url: str, path: str = "encode", **parameters: str | int | list[str]) -> None:
    page.goto(f"{app_url}/{path}?{urlencode(parameters, doseq=True)}")
    settle(page)


def settle(page: Page, patience: int = PATIENCE) -> None:
    """Until the page waits for nothing, and has drawn what it has."""
    # Not Playwright's wait_for_function, which the app's Content-Security-Policy refuses.
    waits = page.evaluate("patience => rest(patience)", patience)
    assert not waits, f"{page.url} waited {patience / 1000:.0f} s for {waits}"


def run(page: Page, text: str) -> None:
    page.locator("textarea").first.fill(text)
    page.get_by_role("button", name="Run", exact=True).click()
    settle(page)


def choose(page: Page, name: str, role: str = "radio") -> None:
    page.get_by_role(role, name=name, exact=True).click()
    settle(page)


def go(page: Page, name: str) -> None:
    """Opens a page by its link in the menu."""
    page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    settle(page)


def parameters(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query, keep_blank_values=True).items()}


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def head_at(page: Page, layers: int, heads: int, layer: int, head: int) -> tuple[float, float]:
    """A spot of a head's picture in the grid, from the canvas's own size: a margin of 30 by 26, then equal cells."""
    page.locator("canvas.heads").scroll_into_view_if_needed()
    box = page.locator("canvas.heads").bounding_box()
    assert box
    width, height = (box["width"] - 30) / heads, (box["height"] - 26) / layers
    return box["x"] + 30 + (head + 0.4) * width, box["y"] + 26 + (layer + 0.4) * height


def cell_at(page: Page, query: int, key: int) -> tuple[float, float]:
    """The middle of a cell of the explorer's matrix."""
    page.locator(".explorer[data-head*=':']").wait_for()
    x, y = page.locator(".explorer[data-view]").evaluate(
        """({ explorer: { views: { matrix } } }, [query, key]) => {
          const { left, top, cell } = matrix.size;
          matrix.canvas.scrollIntoView({ block: "center", behavior: "instant" });
          const box = matrix.canvas.getBoundingClientRect();
          return [box.x + left + (key + 0.5 - matrix.window.x) * cell, box.y + top + (query + 0.5 - matrix.window.y) * cell];
        }""",
        [query, key],
    )
    return x, y


def head_weights(page: Page) -> list[list[float | None]]:
    """The weights of the head in view, as the explorer's script has unpacked them; None where masked."""
    page.locator(".explorer[data-head*=':']").wait_for()
    return page.locator(".explorer[data-view]").evaluate(
        """({ explorer }) => {
          const head = explorer.state.current;
          const row = (query) => Array.from({ length: head.nKeys }, (_, key) =>
            head.masked(query, key) ? null : head.weight(query, key));
          return Array.from({ length: head.nQueries }, (_, query) => row(query));
        }"""
    )


def serious(page: Page, scheme: str = "light") -> list[tuple[str, str, str]]:
    """What axe calls serious or critical: the rule, the element, and what is wrong with it."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    run = "([context, options]) => axe.run(context, options).then(({ violations }) => violations)"
    return [
        (each["id"], node["html"][:200], node["failureSummary"][:200])
        for each in page.evaluate(run, [NOT_OURS, RULES[scheme]])
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


def seen(page: Page) -> dict[str, object]:
    """What stands on a page: its address, its words, its settings, and its pictures to the pixel."""
    return {
        "address": page.url,
        "title": page.locator("h1").inner_text(),
        "story": page.locator(".story, .answer").all_inner_texts(),
        "typed": page.locator("textarea, input:not([type=file])").evaluate_all(
            "fields => fields.map(({ value, checked }) => [value, checked])"
        ),
        "chosen": page.get_by_test_id("stSidebar").locator("[aria-checked=true]").all_inner_texts(),
        "canvases": page.locator(".st-key-hero canvas").evaluate_all(
            # A picture that was looked at before, in another tab, has been drawn; elsewhere it never was.
            "all => all.filter((canvas) => canvas.offsetParent).map((canvas) => canvas.toDataURL())"
        ),
        "markup": page.locator(".st-key-hero").locator(".compute, .markup").all_inner_texts(),
    }


def expect_seen(page: Page, wanted: dict[str, object]) -> None:
    """Until that stands on the page: what is at rest may still be unpacking a picture."""
    if not until(page, lambda: seen(page) == wanted):
        assert seen(page) == wanted


def assert_reopens(page: Page) -> None:
    """The address shows the same to a browser that remembers nothing."""
    page.mouse.move(0, 0)
    wanted = seen(page)
    reopen(page)
    expect_seen(page, wanted)


def reopen(page: Page) -> None:
    """Loads the address anew, without anything that the browser has kept."""
    address = page.url
    forget(page)
    page.goto(address)
    settle(page)


def refuse_hostile(page: Page, part: str) -> None:
    """Text that would be a script or a picture, were it no text, is neither."""
    assert page.evaluate("window.hacked") is None
    assert page.locator(f"{part} :is(script, img)").count() == 0


def save_download(page: Page, name: str, folder: Path) -> Path:
    """The file that a button of that name downloads."""
    with page.expect_download() as started:
        page.get_by_role("button", name=name, exact=True).click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path
