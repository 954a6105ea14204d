"""The Edit mode as a person uses it: heads, links and words by mouse, all of it by keyboard, and the same picture elsewhere."""

from playwright.sync_api import Browser, Page, expect

import attnviz
from attnviz.core.trace import AttentionMap
from tests.browser.test_accessible import serious
from tests.browser.test_address import assert_reopens
from tests.browser.test_encode import PICTURE, SENTENCE, cell_at, head_at, open_page, parameters, settle


def encoder() -> AttentionMap:
    return attnviz.load("minilm").trace(SENTENCE).encoder


def turn_on(page: Page) -> None:
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(page.get_by_text("Click a head to switch it off")).to_be_visible(timeout=PICTURE)
    settle(page)


def test_a_click_switches_a_head_off_and_cuts_a_link_and_another_browser_sees_it(
    page: Page, browser: Browser, app_url: str
) -> None:
    open_page(page, app_url)
    turn_on(page)
    page.mouse.click(*head_at(page, encoder(), 0, 2))
    expect(page.locator(".moved")).to_have_count(16, timeout=PICTURE)
    settle(page)
    page.mouse.click(*cell_at(page, 10, 2))
    expect(page.locator(".edit-chips")).to_contain_text("L3·H1: “it” → “animal” cut", timeout=PICTURE)
    settle(page)
    assert parameters(page)["edits"] == "e0.2z,e3.1c10.2"
    assert not serious(page)
    assert_reopens(page, browser)
    page.get_by_text("Difference", exact=True).click()
    expect(page.locator(".story")).to_contain_text("L3·H1 changed", timeout=PICTURE)
    settle(page)
    assert_reopens(page, browser)
    page.get_by_role("button", name="Restore all").click()
    expect(page.locator(".edit-chips")).to_have_count(0, timeout=PICTURE)
    settle(page)
    assert "edits" not in parameters(page)


def test_keys_alone_switch_off_cut_and_hide(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_role("button", name="Edit", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Click a head to switch it off")).to_be_visible(timeout=PICTURE)
    settle(page)
    for canvas, keys, edits in (
        ("canvas.heads", ("ArrowDown", "Delete"), "e4.1z"),
        ("canvas.cells", ("ArrowUp", "Delete"), "e4.1z,e3.1c9.2"),
        ("canvas.cells", ("h",), "e4.1z,e3.1c9.2,ek2"),
    ):
        page.locator(canvas).first.focus()
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_timeout(600)
        settle(page)
        assert parameters(page)["edits"] == edits
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(600)
    settle(page)
    assert parameters(page)["edits"] == "e4.1z,e3.1c9.2"
