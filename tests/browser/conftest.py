"""A running app and a real browser that may reach only this machine. Each xdist worker has its own of both."""

import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.browser import chromium
from tests.browser.harness import ROOT, Watch, serving

# No name but this machine's leads anywhere. Playwright's routes would block as well, and take the browser's cache with them:
# every page that is opened a second time took twice as long.
THIS_MACHINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", THIS_MACHINE]
WINDOW: ViewportSize = {"width": 1400, "height": 1000}
# A busy machine takes its time; what never comes fails all the same.
expect.set_options(timeout=20_000)


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
    """A fresh browser; the test fails when a page of it asked for anything beyond this machine, or had an error."""
    with browser.new_context(viewport=WINDOW, service_workers="block") as opened:
        watch = Watch(opened)
        yield opened
        problems = watch.problems + exceptions(opened)
    assert not problems


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """One tab for all tests of a module: what Chromium compiles of Streamlit's scripts, 3 s of a core, serves them all."""
    with browser.new_context(viewport=WINDOW, service_workers="block") as opened:
        watch = Watch(opened)
        yield opened.new_page(), watch


@pytest.fixture
def page(tab: tuple[Page, Watch]) -> Iterator[Page]:
    """An empty page in a tab that forgot the tests before; what fails a test with `context` fails one with this too."""
    opened, watch = tab
    opened.set_viewport_size(WINDOW)
    opened.emulate_media(color_scheme="light")
    watch.problems.clear()
    yield opened
    problems = watch.problems + exceptions(opened.context)
    if opened.url.startswith("http"):
        opened.evaluate("localStorage.clear()")
    opened.goto("about:blank")
    assert not problems


def exceptions(context: BrowserContext) -> list[str]:
    """What Streamlit wrote of errors on the pages."""
    return [text for page in context.pages for text in page.get_by_test_id("stException").all_inner_texts()]
