"""The watch that every browser test relies on sees what it must see."""

import pytest
from playwright.sync_api import Error

from tests.browser.harness import Watch, until

INCIDENTS = (
    ('<img src="http://elsewhere.example/a.png">', "asked for http://elsewhere.example/a.png"),
    ('<script src="https://elsewhere.example/a.js"></script>', "asked for https://elsewhere.example/a.js"),
    ("<script>fetch('http://10.1.2.3/').catch(() => 0)</script>", "asked for http://10.1.2.3/"),
    ("<script>new WebSocket('ws://elsewhere.example/a')</script>", "opened ws://elsewhere.example/a"),
    ("<script>throw new Error('broken')</script>", "page error: broken"),
    ("<script>console.error('odd')</script>", "console: odd ("),
    ("<script>alert('boo')</script>", "dialog: boo"),
)


def test_watch_notes(browser):
    with browser.new_context() as context:
        watch, page = Watch(context), context.new_page()
        for document, problem in INCIDENTS:
            watch.problems.clear()
            page.set_content(document)
            assert until(page, lambda wanted=problem: any(noted.startswith(wanted) for noted in watch.problems)), problem


def test_the_browser_reaches_no_other_machine(browser):
    with browser.new_context() as context:
        page = context.new_page()
        for address in ("http://elsewhere.localhost/", "https://10.1.2.3/", "http://[2001:db8::1]/"):
            with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
                page.goto(address)


def test_watch_is_content_with_this_machine(browser, app_url):
    with browser.new_context() as context:
        watch = Watch(context)
        page = context.new_page()
        page.goto(f"{app_url}/_stcore/health")
        assert page.inner_text("body") == "ok"
        assert watch.problems == []
