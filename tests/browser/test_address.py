"""One person walks from page to page and copies a link on each; somebody else opens it, and sees the same."""

from playwright.sync_api import Page, expect

from tests.browser.pages import assert_reopens, choose, go, open_page, settle

TEXT = "Who said “a & b = c #1”? <script>alert('x')</script> Nobody 🦊 did, 100 %."


def copied(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".tool output")).to_have_text("Link copied")
    return page.evaluate("() => navigator.clipboard.readText()")


def test_two_people_see_their_own_sentences_and_links_of_a_walk_open_the_same_elsewhere(
    page: Page, other: Page, app_url: str
) -> None:
    texts = {page: TEXT, other: "The violins were lovely."}
    for each in texts:
        open_page(each, app_url)
    for each, text in texts.items():
        each.locator("textarea").first.fill(text)
    for each in texts:
        each.get_by_role("button", name="Run", exact=True).click()
    expect(other.locator(".words")).to_contain_text("violins")
    settle(page)
    assert "Nobody" in page.locator(".words").inner_text()
    for name in ("Merge subwords to words", "Hide special tokens"):
        page.get_by_text(name).click()
        settle(page)
    choose(page, "Fit to this head")
    choose(page, "Matrix", "tab")
    page.get_by_test_id("stSidebar").get_by_label("Layer", exact=True).fill("5")
    page.keyboard.press("Enter")
    settle(page)
    assert copied(page) == page.url
    assert_reopens(page)

    go(page, "Compute")
    page.get_by_role("radio", name="Why divide by √d").click()
    settle(page)
    page.get_by_role("radiogroup", name="Divide by √d").get_by_role("radio", name="Off", exact=True).click()
    settle(page)
    page.get_by_label("Seed").fill("7")
    page.keyboard.press("Enter")
    settle(page)
    assert copied(page) == page.url
    assert_reopens(page)
