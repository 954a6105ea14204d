"""The toolbar at the picture: Copy link copies at once, over plain http too, and the QR code is the link."""

from playwright.sync_api import Page, expect

from tests.browser.pages import open_page

# What a browser offers a page that came over plain http from another machine.
WITHOUT_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


def test_copy_link_copies_at_once_with_and_without_a_clipboard_and_a_qr_code_stands_beside_it(page: Page, app_url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_page(page, app_url, layer=2, head=5)
    said = page.locator(".tool output")
    read = page.evaluate_handle("() => navigator.clipboard")
    for script in ("", WITHOUT_CLIPBOARD):
        expect(said).to_be_empty()
        page.evaluate("() => navigator.clipboard.writeText('before')")
        page.evaluate(f"() => {{ {script} }}")
        page.get_by_role("button", name="Copy link").click()
        expect(said).to_have_text("Link copied")
        assert read.evaluate("clipboard => clipboard.readText()") == page.url
    page.get_by_role("button", name="QR code").click()
    expect(page.get_by_role("img", name="QR code of this link")).to_be_visible()
    expect(page.get_by_text("This link works on this machine only")).to_be_visible()
