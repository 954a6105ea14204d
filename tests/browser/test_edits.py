"""The Edit mode as a person uses it: heads, links and words by mouse, all of it by keyboard, and the same picture elsewhere."""

from playwright.sync_api import Page, expect

from tests.browser.pages import assert_reopens, cell_at, head_at, open_page, parameters, press, serious, settle


def test_heads_links_and_words_are_edited_by_mouse_and_by_keys_and_the_address_opens_it_again(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    expect(page.get_by_role("application", name="in Edit mode Delete cuts, H hides.")).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Click a head to switch it off")).to_be_visible()
    settle(page)
    page.mouse.click(*head_at(page, 6, 12, 0, 2))
    expect(page.locator(".moved")).to_have_count(16)
    settle(page)
    page.mouse.click(*cell_at(page, 10, 2))
    expect(page.locator(".edit-chips")).to_contain_text("L3·H1: “it” → “animal” cut")
    settle(page)
    assert parameters(page)["edits"] == "e0.2z,e3.1c10.2"
    assert not serious(page)
    page.get_by_text("Difference", exact=True).click()
    expect(page.locator(".story").first).to_contain_text("“it” now looks at “street”")
    settle(page)
    assert_reopens(page)
    page.get_by_role("button", name="Restore all").click()
    expect(page.locator(".edit-chips")).to_have_count(0)
    settle(page)
    assert "edits" not in parameters(page)
    for canvas, keys, edits in (
        ("canvas.heads", ("ArrowDown", "Delete"), "e4.1z"),
        ("canvas.cells", ("ArrowUp", "Delete"), "e4.1z,e3.1c9.2"),
        ("canvas.cells", ("h",), "e4.1z,e3.1c9.2,ek2"),
    ):
        page.locator(canvas).first.focus()
        press(page, *keys)
        settle(page)
        assert parameters(page)["edits"] == edits
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    settle(page)
    assert parameters(page)["edits"] == "e4.1z,e3.1c9.2"
