"""The toolbar at the picture: Copy link copies at once, over plain http too, and the QR code is the link."""

from playwright.sync_api import Page, expect

from tests.browser.pages import open_page

READ = "() => navigator.clipboard.readText()"
# What a browser offers a page that came over plain http from another machine.
WITHOUT_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


def test_copy_link_copies_the_address_at_once_and_says_so(page: Page, app_url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_page(page, app_url, layer=2, head=5)
    button = page.get_by_role("button", name="Copy link")
    button.click()
    expect(page.locator(".tool output")).to_have_text("Link copied")
    assert page.evaluate(READ) == page.url
    expect(page.locator(".tool output")).to_be_empty()


def test_copy_link_copies_where_the_browser_keeps_its_clipboard_to_itself(page: Page, app_url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_page(page, app_url, layer=1)
    read = page.evaluate_handle("() => navigator.clipboard")
    page.evaluate("() => navigator.clipboard.writeText('before')")
    page.evaluate(f"() => {{ {WITHOUT_CLIPBOARD} }}")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator(".tool output")).to_have_text("Link copied")
    assert read.evaluate("clipboard => clipboard.readText()") == page.url


def test_a_qr_code_stands_beside_it(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_role("button", name="QR code").click()
    expect(page.get_by_role("img", name="QR code of this link")).to_be_visible()
    expect(page.get_by_text("This link works on this machine only")).to_be_visible()
