"""Walks in a browser that type without running, and visits that back and forward find again: none may be lost.

Usage: python benchmarks/bench_history.py
"""

import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser import chromium  # noqa: E402
from tests.browser.conftest import ARGUMENTS, WINDOW  # noqa: E402
from tests.browser.harness import serving  # noqa: E402
from tests.browser.test_history import type_without_running, walk_back_and_forth  # noqa: E402

VISITS, WALKS = 20, 100


def main() -> None:
    """Stops at the first text that is lost, or visit that does not come back."""
    command = [sys.executable, "-m", "attnviz.cli"]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(command, folder=ROOT, log=Path(folder) / "log.txt") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        page = browser.new_page(viewport=WINDOW)
        began = time.perf_counter()
        walk_back_and_forth(page, url, visits=VISITS, seed=7)
        print(f"{VISITS} visits, back and forward: each restored, {time.perf_counter() - began:.0f} s")
        began = time.perf_counter()
        type_without_running(browser.new_page(viewport=WINDOW), url, walks=WALKS, seed=7)
        print(f"{WALKS} walks that type without running: no text lost, {time.perf_counter() - began:.0f} s")
        browser.close()


if __name__ == "__main__":
    main()
