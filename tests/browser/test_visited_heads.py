"""The history of a visit: every sentence and head that was looked at is a click away, and stays in the browser."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

import attnviz.ui.address.address_sync
from attnviz.figures.html import bundle
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


@pytest.fixture
def alone(context: BrowserContext, app_url: str) -> Page:
    """A page with the script alone: `say` draws what Python says after each of some runs, and gives its lines."""
    page = context.new_page()
    page.clock.install()
    script = json.dumps(bundle(Path(attnviz.ui.address.address_sync.__file__).with_name("visited_heads.js")))
    page.add_init_script(f"""window.say = async (said) => {{
      const {{ default: draw }} = await import(URL.createObjectURL(new Blob([{script}], {{ type: "text/javascript" }})));
      const parentElement = document.createElement("div");
      parentElement.innerHTML = '<details class="history"><div></div></details>';
      for (const data of said) draw({{ data, parentElement }});
      return [...parentElement.querySelectorAll("li > a")].map((link) => link.textContent);
    }}""")
    page.goto(f"{app_url}/_stcore/health")
    return page


def test_a_browser_that_keeps_nothing_has_a_history_as_long_as_the_page(alone: Page) -> None:
    alone.evaluate(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('refused', 'SecurityError') } })"
    )
    runs = [["encode", None, {"page": "encode", "title": text, "head": "", "query": text}] for text in ("one", "two", "one")]
    assert alone.evaluate("say", runs) == ["one", "two"]


def test_an_address_that_is_newer_than_what_is_drawn_stays(alone: Page) -> None:
    """Told are the page, the query that should stand there, and what is shown."""
    stale, written, elsewhere = ["compute", "at=4", None], ["compute", None, None], ["encode", "at=4", None]
    for said, expected in (([stale], "?at=4"), ([stale, written], "?at=5"), ([elsewhere], "?at=5")):
        alone.evaluate("history.replaceState({}, '', '/compute?at=5')")
        alone.evaluate("say", said)
        alone.clock.run_for(1000)
        assert alone.evaluate("location.search") == expected
