"""What JavaScript computes as Python does, in Chromium and Firefox: the tests that hold one against the other in Node."""

import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest
from _pytest.mark.structures import ParameterSet
from playwright.sync_api import Page

from tests import javascript
from tests.browser import firefox
from tests.browser.firefox import FirefoxTab
from tests.browser.harness import ROOT
from tests.unit.live import test_address, test_described, test_lessons, test_picture, test_steps
from tests.unit.live.graphs import test_algorithms

MODULES = (test_address, test_described, test_lessons, test_picture, test_steps, test_algorithms)
RUNS = re.compile(r"(?<![.\w])(?:run|call|made_by_the_site)\(")
PACKAGES = {
    "@huggingface/tokenizers": "/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs",
    "sentencex-wasm": "/node_modules/sentencex-wasm/sentencex_wasm.js",
}
PAGE = f"""<!doctype html><link rel="icon" href="data:,"><title>Golden</title>
<script type="importmap">{json.dumps({"imports": PACKAGES})}</script>"""
EMPTY = "/tests/empty.html"


class Files(SimpleHTTPRequestHandler):
    """Gives out the files of the project, behind /file any other, and an empty page that finds the tokenizers."""

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of what was asked."""

    def translate_path(self, path: str) -> str:
        return unquote(path.removeprefix("/file")) if path.startswith("/file/") else super().translate_path(path)

    def do_GET(self) -> None:
        if self.path != EMPTY:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the files."""
    with ThreadingHTTPServer(("localhost", 0), partial(Files, directory=str(ROOT))) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://localhost:{serving.server_port}"
        serving.shutdown()


def held() -> Iterator[ParameterSet]:
    """List the tests that run a script, each with all its parameters."""
    for name, test in (each for module in MODULES for each in vars(module).items() if each[0].startswith("test_")):
        if RUNS.search(inspect.getsource(test)):
            mark = next((mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"), None)
            cases = [(name, ())]
            if mark is not None:
                given = [each.values if isinstance(each, ParameterSet) else (each,) for each in mark.args[1]]
                ids = mark.kwargs.get("ids", mark.args[1])
                cases = [(f"{name}-{own}", values) for own, values in zip(ids, given, strict=True)]
            for label, values in cases:
                yield pytest.param(partial(test, *values), id=label)


HELD = tuple(held())


@pytest.fixture(scope="module")
def firefox_tab(server: str) -> Iterator[FirefoxTab]:
    with firefox.opened() as browser:
        tab = browser.new_tab()
        tab.goto(server + EMPTY)
        yield tab


def hold(test: Callable[[], None], server: str, evaluate: Callable[[str], str]) -> None:
    """Run a test with a browser in the place of Node."""
    runs = 0

    def run(script: str, given: Any) -> Any:
        nonlocal runs
        runs += 1
        module = f"(await import({json.dumps(f'{server}/{script}')})).default"
        return json.loads(evaluate(f"async () => JSON.stringify(await {module}(JSON.parse({json.dumps(json.dumps(given))})))"))

    token = javascript.engine.set(run)
    try:
        test()
    finally:
        javascript.engine.reset(token)
    assert runs


@pytest.mark.parametrize("test", HELD)
def test_chromium_computes_what_python_does(test: Callable[[], None], page: Page, server: str):
    page.goto(server + EMPTY)
    hold(test, server, page.evaluate)


@pytest.mark.parametrize("test", HELD)
def test_firefox_computes_what_python_does(test: Callable[[], None], firefox_tab: FirefoxTab, server: str):
    hold(test, server, firefox_tab.evaluate)


def test_all_that_two_languages_compute_is_among_them():
    table = (
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| JavaScript, in `attnviz/`")[2].partition("\n\n")[0]
    )
    named = set(re.findall(r"`([\w/]+)\.py` \|$", table, re.M))
    held_here = {each.values[0].func.__module__.removeprefix("tests.unit.live.").replace(".", "/") for each in HELD}
    # Whole models are run in a browser by tests/browser/test_site.py.
    assert named - held_here == {"graphs/test_models"}
