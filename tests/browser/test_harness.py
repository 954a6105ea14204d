"""The watch that every browser test relies on sees what it must see."""

import pytest
from playwright.sync_api import Error

from tests.browser.harness import Watch, until

INCIDENTS = {
    "an image": ('<img src="http://elsewhere.example/a.png">', "asked for http://elsewhere.example/a.png"),
    "a script": ('<script src="https://elsewhere.example/a.js"></script>', "asked for https://elsewhere.example/a.js"),
    "a fetch": ("<script>fetch('http://10.1.2.3/').catch(() => 0)</script>", "asked for http://10.1.2.3/"),
    "a socket": ("<script>new WebSocket('ws://elsewhere.example/a')</script>", "opened ws://elsewhere.example/a"),
    "an error": ("<script>throw new Error('broken')</script>", "page error: broken"),
    "a complaint": ("<script>console.error('odd')</script>", "console: odd ("),
    "a dialog": ("<script>alert('boo')</script>", "dialog: boo"),
}


@pytest.mark.parametrize(("document", "problem"), INCIDENTS.values(), ids=INCIDENTS.keys())
def test_watch_notes(browser, document, problem):
    with browser.new_context() as context:
        watch = Watch(context)
        page = context.new_page()
        page.set_content(document)
        assert until(page, lambda: any(noted.startswith(problem) for noted in watch.problems)), watch.problems


@pytest.mark.parametrize("address", ["http://elsewhere.localhost/", "https://10.1.2.3/", "http://[2001:db8::1]/"])
def test_the_browser_reaches_no_other_machine(browser, address):
    with browser.new_context() as context, pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        context.new_page().goto(address)


def test_watch_is_content_with_this_machine(browser, app_url):
    with browser.new_context() as context:
        watch = Watch(context)
        page = context.new_page()
        page.goto(f"{app_url}/_stcore/health")
        assert page.inner_text("body") == "ok"
        assert watch.problems == []
