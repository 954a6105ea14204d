"""The present mode: by a press and by a key, in the address, and left again; test_fold.py has what a back row reads."""

from playwright.sync_api import Page, expect

from tests.browser.pages import press
from tests.browser.test_fold import open_page


def test_a_press_or_the_key_f_presents_arrows_move_and_escape_and_back_return(page: Page, app_url: str) -> None:
    sidebar = page.get_by_test_id("stSidebar")
    open_page(page, app_url, "encode")
    page.locator("textarea").first.focus()
    page.keyboard.press("f")
    expect(sidebar).to_be_visible()
    page.locator("textarea").first.blur()
    page.keyboard.press("f")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("f")
    expect(sidebar).to_be_visible()
    page.get_by_role("button", name="Present").click()
    expect(sidebar).to_be_hidden()
    expect(page.locator(".explorer[data-presenting][data-view]")).to_be_visible()
    page.wait_for_url("**present=true*")
    press(page, "ArrowRight", "Enter")
    expect(page.locator(".where")).to_contain_text("head 2 of layer 3")
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    page.wait_for_url(lambda url: "present" not in url)


def test_an_address_presents_steps_move_meanwhile_and_back_leaves_it(page: Page, app_url: str) -> None:
    open_page(page, app_url, "compute", "present=true&at=0,0,0")
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".compute[data-step='1']")).to_be_visible()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "present" not in url)
    page.keyboard.press("f")
    page.wait_for_url("**present=true*")
    page.go_back()
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
