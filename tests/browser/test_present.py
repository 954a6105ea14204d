"""The present mode: by a press and by a key, in the address, and left again; test_fold.py has what a back row reads."""

from playwright.sync_api import Page, expect

from tests.browser.pages import press
from tests.browser.test_fold import open_page


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
