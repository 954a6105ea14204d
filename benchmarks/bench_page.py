"""How long a person waits: from starting the server to the first picture, and from pressing Run to the next ones.

Needs Chromium. Each sentence is new to the app; a new picture counts as drawn once the labels of every matrix on the page hold
a word that only this sentence has, two frames later. Encode reads 16 tokens with its first model; Translate ten words with
every translator of the catalog, up to four, side by side.
"""

import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from attnviz.models import catalog
from attnviz.ui.address.state import SLOTS
from tests.browser import chromium
from tests.browser.harness import ROOT, serving

START_LIMIT = 7.0
# One token each to a model of English, so that the word stands on one label.
WALKERS = (
    "cats dogs cows pigs mice rats bats bees birds bears wolves horses sheep goats lions snakes ducks boys girls kings queens "
    "deer ants soldiers"
)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DRAWN = """([word, pictures]) => new Promise((done, fail) => {
  const names = (plot) => Object.values(plot._fullLayout?.xaxis?.labelalias ?? {});
  const plots = () => [...document.querySelectorAll(".js-plotly-plot")].map(names);
  const parts = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
  const explorers = () => parts().map(({ shadowRoot }) => shadowRoot.querySelector(".explorer[data-head]")?.explorer);
  const tokens = (explorer) => (explorer?.current() ? explorer.overview.keys.map(([text]) => text) : []);
  const labels = () => [...plots(), ...explorers().map(tokens)];
  const shows = () => labels().filter((texts) => texts.join(" ").includes(word)).length >= pictures;
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


@dataclass(frozen=True)
class Waiting:
    """A page on which Run is pressed again and again: `limit` in seconds, for the median."""

    page: str
    sentence: str
    pictures: int
    runs: int
    limit: float
    warm_up: int = 3

    def measure(self, page: Page, address: str) -> list[float]:
        """Seconds from pressing Run to the last picture of a new sentence, on the browser's own clock."""
        page.goto(f"{address}/{self.page}")
        page.locator(".js-plotly-plot .hm, .explorer[data-head*=':']").nth(self.pictures - 1).wait_for(timeout=60_000)
        page.wait_for_timeout(2000)
        seconds = []
        for word in WALKERS.split()[: self.runs + self.warm_up]:
            page.locator("textarea").first.fill(self.sentence.format(word))
            # A person's click takes the focus from the text, which hands it to the form; a script's does not.
            page.locator("textarea").first.blur()
            page.wait_for_timeout(300)
            seconds.append(page.evaluate(DRAWN, [word, self.pictures]))
        return seconds[self.warm_up :]


def waits() -> dict[str, Waiting]:
    """What is measured, by the name of its line."""
    models = min(SLOTS, len(catalog.available_for("translate")))
    encode = Waiting("encode", "Because the {} were tired, they did not cross the old street today.", 1, 20, 1.0)
    translate = Waiting("translate", "I saw two {} near the old house this morning.", models, 10, 1.5)
    return {"Encode: Run to picture, 16 tokens": encode, f"Translate: Run to {models} × matrix, 10 words": translate}


def main() -> int:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        start = time.perf_counter()
        with serving([sys.executable, "-m", "attnviz.cli"], folder=ROOT, log=Path(folder) / "log.txt") as address:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(f"{address}/encode")
            page.locator(".explorer[data-head*=':']").wait_for(timeout=60_000)
            first = time.perf_counter() - start
            print(f"{'':44}{'median':>9}{'max':>9}{'limit':>9}")
            print(f"{'server start to first picture':44}{first:>8.2f}s{'':>9}{START_LIMIT:>8.1f}s")
            missed = first > START_LIMIT
            for name, waiting in waits().items():
                seconds = waiting.measure(page, address)
                median = statistics.median(seconds)
                missed |= median > waiting.limit
                print(f"{name:44}{median:>8.2f}s{max(seconds):>8.2f}s{waiting.limit:>8.1f}s", flush=True)
        browser.close()
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
