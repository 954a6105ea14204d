"""One person walks from page to page and copies a link on each; somebody else opens it, and sees the same."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import Watch
from tests.browser.test_encode import PICTURE, choose, open_page, run, settle

TEXT = "Who said “a & b = c #1”? <script>alert('x')</script> Nobody 🦊 did, 100 %."


def finished(page: Page) -> None:
    """Until the script has run to its end and the page has drawn what it said."""
    page.locator(".st-key-hero").wait_for(timeout=PICTURE)
    # Its place is filled at the end of every page.
    page.get_by_role("button", name="Copy link").wait_for(timeout=PICTURE)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)
    page.wait_for_timeout(1500)


def copied(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".tool output")).to_have_text("Link copied")
    return page.evaluate("() => navigator.clipboard.readText()")


def seen(page: Page) -> dict[str, object]:
    """What stands on a page: its words, its settings, and its pictures to the pixel."""
    return {
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


def assert_reopens(page: Page, browser: Browser) -> None:
    """In a browser that has never been here before."""
    link = copied(page)
    assert link == page.url
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    watch = Watch(context)
    other = context.new_page()
    other.goto(link)
    finished(other)
    page.mouse.move(0, 0)
    # A busy machine draws in pieces.
    for _ in range(20):
        if seen(other) == seen(page):
            break
        other.wait_for_timeout(500)
    assert seen(other) == seen(page)
    context.close()
    assert not watch.problems


def go(page: Page, name: str) -> None:
    page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name, timeout=PICTURE)
    finished(page)


def test_links_of_a_walk_over_three_pages_open_the_same_elsewhere(page: Page, browser: Browser, app_url: str) -> None:
    open_page(page, app_url)
    run(page, TEXT)
    choose(page, "Matrix", "tab")
    page.get_by_text("Hide special tokens").click()
    page.get_by_test_id("stSidebar").get_by_label("Layer").fill("5")
    page.keyboard.press("Enter")
    settle(page)
    finished(page)
    assert_reopens(page, browser)

    go(page, "Compute")
    page.get_by_role("radio", name="Why divide by √d").click()
    finished(page)
    page.get_by_role("radiogroup", name="Divide by √d").get_by_role("radio", name="Off", exact=True).click()
    finished(page)
    page.get_by_label("Seed").fill("7")
    page.keyboard.press("Enter")
    finished(page)
    assert_reopens(page, browser)

    go(page, "Answer")
    page.locator("textarea").first.fill("Which year & why #2?")
    page.get_by_role("button", name="Run", exact=True).click()
    finished(page)
    page.get_by_text("Merge subwords to words").click()
    finished(page)
    assert_reopens(page, browser)
