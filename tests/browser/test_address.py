"""One person walks from page to page and copies a link on each; somebody else opens it, and sees the same."""

from playwright.sync_api import Page, expect

from tests.browser.pages import assert_reopens, choose, go, open_page, parameters, run, settle

TEXT = "Who said “a & b = c #1”? <script>alert('x')</script> Nobody 🦊 did, 100 %."


def copied(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".tool output")).to_have_text("Link copied")
    return page.evaluate("() => navigator.clipboard.readText()")


def test_a_word_of_home_chooses_its_row_and_what_is_typed_is_not_what_is_shown(page: Page, other: Page, app_url: str) -> None:
    open_page(page, app_url, "")
    page.locator(".words .token", has_text="street").click()
    expect(page.locator(".headline")).to_contain_text("street looks")
    settle(page)
    assert_reopens(page, other)
    read_label = "frame => getComputedStyle(frame, '::before').content"
    hero, box = page.locator(".st-key-hero"), page.locator("textarea")
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
    assert parameters(page) == {"text": "The dog slept."}


def test_links_of_a_walk_over_three_pages_open_the_same_elsewhere(page: Page, other: Page, app_url: str) -> None:
    open_page(page, app_url)
    run(page, TEXT)
    choose(page, "Matrix", "tab")
    page.get_by_text("Hide special tokens").click()
    page.get_by_test_id("stSidebar").get_by_label("Layer").fill("5")
    page.keyboard.press("Enter")
    settle(page)
    assert copied(page) == page.url
    assert_reopens(page, other)

    go(page, "Compute")
    page.get_by_role("radio", name="Why divide by √d").click()
    settle(page)
    page.get_by_role("radiogroup", name="Divide by √d").get_by_role("radio", name="Off", exact=True).click()
    settle(page)
    page.get_by_label("Seed").fill("7")
    page.keyboard.press("Enter")
    settle(page)
    assert copied(page) == page.url
    assert_reopens(page, other)

    go(page, "Answer")
    page.locator("textarea").first.fill("Which year & why #2?")
    page.get_by_role("button", name="Run", exact=True).click()
    settle(page)
    page.get_by_text("Merge subwords to words").click()
    settle(page)
    assert copied(page) == page.url
    assert_reopens(page, other)
