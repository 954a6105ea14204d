"""A running app and a real browser that may reach only this machine. Each xdist worker has a browser of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests import shared
from tests.browser import chromium
from tests.browser.harness import PATIENCE, ROOT, WINDOW, Watch, forget, serve, watched
from tests.browser.jumps import drawn_slowly

# No name but this machine's leads anywhere. Playwright's routes would block as well, and take the browser's cache with them:
# every page that is opened a second time took twice as long.
THIS_MACHINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", THIS_MACHINE]
# No page lives long enough to win back what it takes to optimize its scripts: a tenth of the time of a visit. What is compiled
# is kept after the first visit, not after the third: a quarter of the next two.
SIMPLE_SCRIPTS = ("--js-flags=--no-opt", "--v8-cache-options=code")
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def class_store() -> str:
    """The address of the store of classes of the app."""
    return f"sqlite:///{shared.folder() / 'classes.sqlite'}"


@pytest.fixture(scope="session")
def app_url(class_store: str) -> str:
    """The address of the app of this checkout: one for all processes of a test run, for each would take 20 s of a core."""

    def begin(place: Path) -> None:
        log = place.with_suffix(".log")
        server, address = serve([sys.executable, "-m", "attnviz"], folder=ROOT, log=log, ATTNVIZ_CLASS_STORE=class_store)
        shared.stop_at_the_end(server)
        place.write_text(address, encoding="utf-8")

    return shared.once("app", begin).read_text(encoding="utf-8")


# Not for the session: while Playwright runs, its event loop counts as running, and other tests' asyncio would refuse to start.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS, *SIMPLE_SCRIPTS])
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh browser; the test fails when a page of it asked for anything beyond this machine, or had an error."""
    with watched(browser) as opened:
        yield opened


@contextmanager
def _tab(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    with browser.new_context(viewport=WINDOW, service_workers="block") as opened:
        watch = Watch(opened)
        yield opened.new_page(), watch


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """One tab for all tests: what Chromium compiles of Streamlit's scripts serves them all, and halves the time of a visit."""
    with _tab(browser) as opened:
        yield opened


@pytest.fixture(scope="package")
def other_tab(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """A tab as of another browser: it shares no storage and no cookie with the first."""
    with _tab(browser) as opened:
        yield opened


@contextmanager
def _emptied(tab: tuple[Page, Watch]) -> Iterator[Page]:
    opened, watch = tab
    opened.set_viewport_size(WINDOW)
    opened.emulate_media(media="null", color_scheme="light", forced_colors="none")
    watch.problems.clear()
    yield opened
    try:
        watch.check()
    finally:
        forget(opened)


@pytest.fixture
def page(tab: tuple[Page, Watch]) -> Iterator[Page]:
    """An empty page in a tab that forgot the tests before; what fails a test with `context` fails one with this too."""
    with _emptied(tab) as opened:
        yield opened


@pytest.fixture
def slow(page: Page) -> Iterator[Page]:
    """The page, which draws every message of the server by itself, and notes what moves."""
    with drawn_slowly(page):
        yield page


@pytest.fixture
def other(other_tab: tuple[Page, Watch]) -> Iterator[Page]:
    """An empty page in the browser of somebody else."""
    with _emptied(other_tab) as opened:
        yield opened
