"""What the browser tests stand on: an app that is served, and a browser that is watched.

Benchmarks and tests that open no page serve an app with it, too: Playwright may be missing there.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, ViewportSize, WebSocket

ROOT = Path(__file__).parents[2]
WINDOW: ViewportSize = {"width": 1400, "height": 1000}
REST = Path(__file__).with_name("rest.js")
# What Streamlit moves while it works is drawn sixty times a second, a sixth of the time of a visit; none of it stays.
# Benchmarks measure pages as they are.
STILL = """{
  const still = new CSSStyleSheet();
  still.replaceSync(`[data-testid=stSkeleton] { animation: none !important; }
    :is([data-testid=stElementContainer], [data-testid=stExpander] *) { transition: none !important; }`);
  document.adoptedStyleSheets.push(still);
}"""
# A busy machine takes its time; what never comes fails all the same. In ms.
PATIENCE = 120_000
BELOW_A_PAGE = re.compile(r"/.+/_stcore/(health|host-config)")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(command: list[str], *, folder: Path, log: Path, option: str = "--port", **environment: str) -> Iterator[str]:
    """The address of the app that `command` serves (its port is appended to it); it is stopped at the end."""
    server, address = serve(command, folder=folder, log=log, option=option, **environment)
    try:
        yield address
    finally:
        stop(server)


def serve(
    command: list[str], *, folder: Path, log: Path, option: str = "--port", **environment: str
) -> tuple[subprocess.Popen[bytes], str]:
    """Begin to serve an app, and wait until it answers."""
    port = free_port()
    address = f"http://localhost:{port}"
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, option, str(port)],
            cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    started = time.monotonic()
    while not is_healthy(address):
        waited = time.monotonic() - started
        if server.poll() is not None or waited > PATIENCE / 1000:
            stop(server)
            pytest.fail(f"the app did not start within {waited:.0f} s:\n{log.read_text()[-4000:]}")
        time.sleep(0.1)
    return server, address


def stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()


def is_healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def watched(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """A browser that has never been anywhere; fails when one of its pages asked for anything beyond this machine, or erred."""
    with browser.new_context(**{"viewport": WINDOW, "service_workers": "block", **options}) as context:
        watch = Watch(context)
        yield context
        watch.check()


def forget(page: Page) -> None:
    """Leaves a page empty, in a browser that remembers nothing but what Streamlit's own files are."""
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.goto("about:blank")


def until(page: Page, condition: Callable[[], bool]) -> bool:
    """Whether a condition that the page's events bring about comes to hold."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not (holds := condition()) and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    return holds


class Watch:
    """Notes what a browser context asked of another machine, and what went wrong in it; its pages can say when they rest."""

    def __init__(self, context: BrowserContext) -> None:
        self.problems: list[str] = []
        self._context = context
        context.set_default_timeout(PATIENCE)
        context.add_init_script(path=REST)
        context.add_init_script(STILL)
        # What leads elsewhere fails; to hear of every request took a twentieth of the time of a visit.
        context.on("requestfailed", self._request)
        context.on("page", self._page)

    def check(self) -> None:
        """Fails where something went wrong, and forgets it."""
        errors = [text for page in self._context.pages for text in page.get_by_test_id("stException").all_inner_texts()]
        problems, self.problems = self.problems + errors, []
        assert not problems, problems

    def _request(self, request: Request) -> None:
        if not self._is_local(request.url):
            self.problems.append(f"asked for {request.url}")

    def _page(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", self._console)
        page.on("dialog", self._dialog)
        page.on("websocket", self._websocket)

    def _console(self, message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        # Opened at /encode, Streamlit's page looks for its server below /encode first, and then at the top.
        is_search = "Failed to load resource" in message.text and BELOW_A_PAGE.fullmatch(urlsplit(url).path)
        if message.type == "error" and not is_search:
            self.problems.append(f"console: {message.text} ({url})")

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _websocket(self, websocket: WebSocket) -> None:
        if not self._is_local(websocket.url):
            self.problems.append(f"opened {websocket.url}")

    @staticmethod
    def _is_local(url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme in ("about", "blob", "data", "file") or parts.hostname in ("localhost", "127.0.0.1")
