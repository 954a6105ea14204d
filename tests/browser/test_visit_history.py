"""The history of a visit: every sentence and head that was looked at is a click away, and stays in the browser."""

from playwright.sync_api import Browser, Page, expect

from attnviz.core.trace import AttentionMap
from tests.browser.conftest import WINDOW
from tests.browser.test_encode import PICTURE, head_at, open_page, parameters, run, settle
from tests.browser.test_encode import encoder as encoder

TEXT = "A kitten naps on the couch."


def test_what_was_looked_at_is_opened_again(page: Page, app_url: str, encoder: AttentionMap) -> None:
    open_page(page, app_url)
    page.mouse.click(*head_at(page, encoder, 0, 2))
    expect(page.locator(".story")).to_contain_text("L0·H2", timeout=PICTURE)
    run(page, TEXT)
    expect(page.locator(".story")).to_contain_text("couch", timeout=PICTURE)
    history = page.locator(".history")
    history.locator("summary").click()
    expect(history.locator("li")).to_have_count(2)
    expect(history.locator("li").last).to_contain_text("L3·H1")
    history.get_by_role("link", name="L3·H1").click()
    expect(page.locator(".story")).to_contain_text("L3·H1 sends", timeout=PICTURE)
    settle(page)
    assert "layer" not in parameters(page)
    assert "text" not in parameters(page)
    page.reload()
    settle(page)
    expect(page.locator(".history li")).to_have_count(2)
    page.locator(".history summary").click()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".history")).to_be_hidden()


def test_a_browser_that_keeps_nothing_has_a_history_as_long_as_the_page(browser: Browser, app_url: str) -> None:
    with browser.new_context(viewport=WINDOW) as context:
        context.add_init_script(
            "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('refused', 'SecurityError') } })"
        )
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        open_page(page, app_url)
        run(page, TEXT)
        page.locator(".history summary").click()
        expect(page.locator(".history li")).to_have_count(2)
        assert not problems
