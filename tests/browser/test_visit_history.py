"""The history of a visit: every sentence and head that was looked at is a click away, and stays in the browser."""

from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect

import attnviz.ui.address.history
from tests.browser.harness import watched
from tests.browser.pages import head_at, open_page, parameters, run, settle

TEXT = "A kitten naps on the couch."


def test_what_was_looked_at_is_opened_again(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.mouse.click(*head_at(page, 6, 12, 0, 2))
    expect(page.locator(".story")).to_contain_text("L0·H2")
    run(page, TEXT)
    expect(page.locator(".story")).to_contain_text("couch")
    history = page.locator(".history")
    history.locator("summary").click()
    expect(history.locator("li")).to_have_count(2)
    expect(history.locator("li").last).to_contain_text("L3·H1")
    history.get_by_role("link", name="L3·H1").click()
    expect(page.locator(".story")).to_contain_text("L3·H1 sends")
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
    with watched(browser) as context:
        context.add_init_script(
            "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('refused', 'SecurityError') } })"
        )
        page = context.new_page()
        open_page(page, app_url)
        run(page, TEXT)
        page.locator(".history summary").click()
        expect(page.locator(".history li")).to_have_count(2)


def test_an_address_that_is_newer_than_what_is_drawn_stays(context: BrowserContext, app_url: str) -> None:
    """The script alone, told what Python says after a run: the page, the query that should stand there, what is shown."""
    script = Path(attnviz.ui.address.history.__file__).with_suffix(".js").read_text(encoding="utf-8")
    page = context.new_page()
    page.goto(f"{app_url}/_stcore/health")
    page.clock.install()
    say = """async ([script, said]) => {
      history.replaceState({}, "", "/compute?at=5");
      const { default: draw } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
      const parentElement = document.createElement("div");
      parentElement.innerHTML = '<details class="history"><div></div></details>';
      for (const data of said) draw({ data, parentElement });
    }"""
    stale, written, elsewhere = ["compute", "at=4", None], ["compute", None, None], ["encode", "at=4", None]
    for said, expected in (([stale], "?at=4"), ([stale, written], "?at=5"), ([elsewhere], "?at=5")):
        page.evaluate(say, [script, said])
        page.clock.run_for(1000)
        assert page.evaluate("location.search") == expected
