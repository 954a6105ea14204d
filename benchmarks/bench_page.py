"""How long a person waits: from starting the server to the first picture, and from pressing Run to the next ones.

Needs Chromium. Each text is new to the app: it holds a word that none before it had. A new picture counts as drawn two frames
after that word stands in it: in the tokens of the head that Encode's explorer draws, in the text of the picture elsewhere.
Encode reads 16 tokens with its first model, Translate ten words with one model, and with every one of the catalog, up to four.
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
PASSAGE = (
    "Ada Lovelace wrote the first program in 1843, for a machine that was never built. She kept {} in her garden. "
    "Her notes were read again a century later, when the first computers were switched on."
)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DRAWN = """(word) => new Promise((done, fail) => {
  const parts = () => [...document.querySelectorAll(".st-key-hero [data-testid=stBidiComponentIsolated]")];
  const explorer = ({ shadowRoot }) => shadowRoot?.querySelector(".explorer[data-head]")?.explorer;
  const explorers = () => parts().map(explorer).filter(Boolean);
  const tokens = (explorer) => (explorer.state.current ? explorer.state.overview.keys.map(([text]) => text) : []);
  const drawn = ({ shadowRoot }) => [...(shadowRoot?.children ?? [])].filter(({ tagName }) => tagName !== "STYLE");
  const texts = () => parts().flatMap(drawn).map(({ textContent }) => textContent);
  const shown = () => (explorers().length ? explorers().flatMap(tokens) : texts());
  const start = performance.now();
  const seconds = () => (performance.now() - start) / 1000;
  [...document.querySelectorAll("button")].find((button) => button.innerText.trim() === "Run").click();
  const look = () => {
    if (seconds() > 30) fail(new Error(`no picture of ${word} within 30 s`));
    else if (shown().join(" ").includes(word)) requestAnimationFrame(() => requestAnimationFrame(() => done(seconds())));
    else requestAnimationFrame(look);
  };
  look();
})"""


@dataclass(frozen=True)
class Waiting:
    """A page on which Run is pressed again and again: `limit` in seconds, for the median."""

    page: str
    text: str
    runs: int
    limit: float
    warm_up: int = 3

    def measure(self, page: Page, address: str) -> list[float]:
        """Seconds from pressing Run to the picture of a new text, on the browser's own clock."""
        page.goto(f"{address}/{self.page}")
        page.locator(".st-key-hero").wait_for(timeout=60_000)
        page.wait_for_timeout(3000)
        seconds = []
        for word in WALKERS.split()[: self.runs + self.warm_up]:
            box = page.locator("[class*=st-key-prompt] textarea").first
            box.fill(self.text.format(word))
            # A person's click takes the focus from the text, which hands it to the form; a script's does not.
            box.blur()
            page.wait_for_timeout(300)
            seconds.append(page.evaluate(DRAWN, word))
            page.wait_for_timeout(700)
        return seconds[self.warm_up :]


def waits() -> dict[str, Waiting]:
    """What is measured, by the name of its line."""
    models = catalog.available_for("translate")[:SLOTS]
    several = "&".join(f"models={name}" for name in models)
    ten_words = "I saw two {} near the old house this morning."
    return {
        "Encode: Run to picture, 16 tokens": Waiting(
            "encode", "Because the {} were tired, they did not cross the old street today.", 15, 0.4
        ),
        "Answer: Run to picture": Waiting("answer", PASSAGE, 10, 0.6),
        "Summarize: Run to picture": Waiting("summarize", PASSAGE, 10, 0.5),
        "Translate: Run to picture, 10 words": Waiting("translate?models=transformer-en-fr", ten_words, 10, 0.5),
        f"Translate: Run to {len(models)} pictures, 10 words": Waiting(f"translate?{several}", ten_words, 10, 1.0),
    }


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
