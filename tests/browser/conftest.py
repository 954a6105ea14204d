"""A running app and a real browser that may reach only this machine. Each xdist worker has its own of both."""

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser import chromium
from tests.browser.harness import ROOT, Watch, serving

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app of this checkout."""
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with serving([sys.executable, "-m", "attnviz.cli"], folder=ROOT, log=log) as address:
        yield address


# Not for the session: while Playwright runs, its event loop counts as running, and other tests' asyncio would refuse to start.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser; the test fails when a page of it left this machine, or had an error."""
    opened = browser.new_context(viewport={"width": 1400, "height": 1000}, service_workers="block")
    watch = Watch(opened)
    yield opened
    exceptions = [text for page in opened.pages for text in page.get_by_test_id("stException").all_inner_texts()]
    opened.close()
    assert not watch.problems + exceptions


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
