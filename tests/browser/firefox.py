"""Drives a Firefox of the system over WebDriver BiDi; Playwright drives only one of its own."""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.browser.harness import PATIENCE, free_port, stop

NAMES = ("firefox-esr", "firefox")


def find() -> str | None:
    """The browser of $FIREFOX, or of the system."""
    return (
        shutil.which(os.environ["FIREFOX"]) if "FIREFOX" in os.environ else next(filter(None, map(shutil.which, NAMES)), None)
    )


class Firefox:
    """A browser, by its connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count()
        self.send("session.new", capabilities={})

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Have a command carried out; return its result."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while (answer := json.loads(self._connection.recv(PATIENCE / 1000))).get("id") != number:
            """Events are not looked at."""
        if answer["type"] == "error":
            raise AssertionError(f"{method}: {answer['message']}")
        return answer["result"]

    def new_tab(self) -> "FirefoxTab":
        """Open a tab."""
        return FirefoxTab(self, self.send("browsingContext.create", type="tab")["context"])


class FirefoxTab:
    """A tab."""

    def __init__(self, browser: Firefox, context: str) -> None:
        self._browser, self._context = browser, context

    def goto(self, url: str) -> None:
        self._browser.send("browsingContext.navigate", context=self._context, url=url, wait="complete")

    def reload(self) -> None:
        self._browser.send("browsingContext.reload", context=self._context, wait="complete")

    def resize(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._browser.send("browsingContext.setViewport", context=self._context, viewport=viewport)

    def evaluate(self, function: str) -> Any:
        """Call a function without arguments, and wait for what it promises; what it gives is JSON."""
        expression = f"Promise.resolve(({function})()).then((value) => JSON.stringify(value))"
        target = {"context": self._context}
        answer = self._browser.send("script.evaluate", expression=expression, target=target, awaitPromise=True)
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])


@contextmanager
def opened() -> Iterator[Firefox]:
    """A Firefox that has never been anywhere; the test is skipped where none is installed."""
    path = find()
    if path is None:
        pytest.skip("Firefox is missing (Debian: apt install firefox-esr)")
    with tempfile.TemporaryDirectory(prefix="attnviz-firefox-", ignore_cleanup_errors=True) as profile:
        port = free_port()
        command = [path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", str(port), "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _connected(process, port) as connection:
                yield Firefox(connection)
        finally:
            stop(process)


def _connected(process: subprocess.Popen[bytes], port: int) -> ClientConnection:
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            return connect(f"ws://127.0.0.1:{port}/session", max_size=None)
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
