"""How long a person waits: from starting the server to the first picture, and from pressing Run to the next one.

Needs Chromium. Each sentence is new to the app and has 16 tokens; a new picture counts as drawn once the heatmap's labels hold
a word that only this sentence has, two frames later.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser import chromium
from tests.browser.harness import ROOT, serving

RUNS, WARM_UP = 20, 3
RUN_LIMIT, START_LIMIT = 1.0, 12.0
# One token each, so that a sentence has 16 tokens and the word stands on one label.
WALKERS = (
    "cats dogs cows pigs mice rats bats bees birds bears wolves horses sheep goats lions snakes ducks boys girls kings queens "
    "deer ants soldiers"
)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DRAWN = """(word) => new Promise((done, fail) => {
  const axis = () => document.querySelector(".js-plotly-plot")?._fullLayout?.xaxis;
  const shows = () => (axis()?.ticktext ?? []).join(" ").includes(word);
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  [...document.querySelectorAll("button")].find((button) => button.innerText.trim() === "Run").click();
  const look = () => {
    if (seconds() > 30) fail(new Error(`no picture of ${word} within 30 s`));
    else if (shows()) requestAnimationFrame(() => requestAnimationFrame(() => done(seconds())));
    else requestAnimationFrame(look);
  };
  look();
})"""


def run_to_picture(page: Page, word: str) -> float:
    """Seconds from pressing Run to the heatmap of a new sentence, on the browser's own clock."""
    page.locator("textarea").first.fill(f"Because the {word} were tired, they did not cross the old street today.")
    page.wait_for_timeout(300)
    return page.evaluate(DRAWN, word)


def main() -> int:
    words = WALKERS.split()[: RUNS + WARM_UP]
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        start = time.perf_counter()
        with serving([sys.executable, "-m", "attnviz.cli"], folder=ROOT, log=Path(folder) / "log.txt") as address:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(f"{address}/encode")
            page.locator(".js-plotly-plot .hm").first.wait_for(timeout=60_000)
            first = time.perf_counter() - start
            page.wait_for_timeout(2000)
            seconds = [run_to_picture(page, word) for word in words][WARM_UP:]
        browser.close()
    median = statistics.median(seconds)
    print(f"{'':34}{'median':>9}{'max':>9}{'limit':>9}")
    print(f"{'server start to first picture':34}{first:>8.2f}s{'':>9}{START_LIMIT:>8.1f}s")
    print(f"{'Run to picture, 16 tokens, warm':34}{median:>8.2f}s{max(seconds):>8.2f}s{RUN_LIMIT:>8.1f}s")
    return int(median > RUN_LIMIT or first > START_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
