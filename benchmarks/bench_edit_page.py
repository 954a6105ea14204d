"""How long a person waits after a head is switched off on a page, until the new picture and what the model says stand there.

Needs Chromium. Of each page the median of five heads; on Translate one model.
"""

import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.harness import ROOT, serving

LIMITS = {"encode": 0.6, "answer": 0.6, "translate": 0.8}
QUERIES = {"encode": "", "answer": "&picture=matrix", "translate": "&models=transformer-en-fr"}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 120_000
# On the browser's own clock; what a component draws is in its shadow.
SWITCHED = """(button, name) => new Promise((done, fail) => {
  const parts = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
  const says = () => parts().some(({ shadowRoot }) => shadowRoot?.querySelector(".said"));
  const isOn = () => [...document.querySelectorAll("button")].some(({ innerText }) => innerText.includes(name));
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  button.click();
  const look = () => {
    if (seconds() > 60) fail(new Error(`no ${name} within 60 s`));
    else if (says() && isOn()) requestAnimationFrame(() => requestAnimationFrame(() => done(seconds())));
    else requestAnimationFrame(look);
  };
  look();
})"""
HEADS = 5


def rest(page: Page) -> None:
    page.wait_for_timeout(300)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PATIENCE)
    page.wait_for_timeout(500)


def waits(page: Page, address: str, path: str) -> list[float]:
    """Seconds from the press to the table or tokens that say what changed, for each of some heads."""
    seconds = []
    for head in range(HEADS):
        page.goto(f"{address}/{path}?editing=true&layer=1&head={head % 4}&all_heads=false{QUERIES[path]}")
        switch = page.get_by_role("button", name="Switch L")
        expect(switch).to_be_visible(timeout=PATIENCE)
        rest(page)
        seconds.append(switch.evaluate(SWITCHED, f"Switch L1·H{head % 4} on"))
        rest(page)
    return seconds


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "attnviz.cli"]
        with serving(command, folder=ROOT, log=Path(folder) / "log") as address:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1440, "height": 1200})
            for path, limit in LIMITS.items():
                # The first head loads the model, and is not counted.
                median = statistics.median(waits(page, address, path)[1:])
                failed += median > limit
                print(f"{path:10} head off → picture and output {median:5.2f} s (limit {limit})")
            browser.close()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
