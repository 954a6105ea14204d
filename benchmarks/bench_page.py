"""How long a person waits: for the first picture of a new server and of every page, and from Run, or a head off, to the next.

Needs Chromium. Each text is new to the app: it holds a word that none before it had. A new picture counts as drawn two frames
after that word stands in it: in the tokens of the head that Encode's explorer draws, in the text of the picture elsewhere.
What a page shows at first travels with attnviz: it stands before PyTorch is imported, and each browser that opens it is new.
Encode reads 16 tokens with its first model, Translate ten words with one model, and with every one of the catalog, up to four.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from attnviz.models import catalog
from attnviz.pages_and_addresses import PAGES
from attnviz.ui.address.address_sync import SLOTS
from benchmarks.harness import SCRIPT, App, Row, at_most, browsing, page_of, run, serving

START_LIMIT, FRESH_LIMIT, FIRST_LIMIT, MEGABYTES = 3.5, 1.5, 2.0, 250
# When a page's frame first shows something, in seconds since 1970: looked for in every frame that the browser draws, on the
# browser's own clock, for what is drawn next may keep it busy. What a component draws is in its shadow.
PICTURED = """new Promise((pictured) => {
  const drawn = ":is(canvas, svg, table, [data-pick], .compute *, .explorer[data-head*=':'])";
  const roots = (place) => [place, ...[...place.querySelectorAll("*")].map(({ shadowRoot }) => shadowRoot).filter(Boolean)];
  const look = () => {
    const places = [...document.querySelectorAll(".st-key-hero")].flatMap(roots);
    const parts = places.flatMap((place) => [...place.querySelectorAll(drawn)]);
    const isDrawn = parts.some((part) => part.checkVisibility({ visibilityProperty: true }));
    requestAnimationFrame((now) => (isDrawn ? pictured((performance.timeOrigin + now) / 1000) : look()));
  };
  look();
})"""
# These begin with a list or a form.
WITHOUT_PICTURE = {"home", "lessons", "class"}
EDIT_LIMITS = {"encode": 0.6, "answer": 0.6, "translate": 0.8}
EDIT_QUERIES = {"encode": "", "answer": "&picture=matrix", "translate": "&models=transformer-en-fr"}
# One token each to a model of English, so that the word stands on one label.
WALKERS = (
    "cats dogs cows pigs mice rats bats bees birds bears wolves horses sheep goats lions snakes ducks boys girls kings queens "
    "deer ants soldiers"
)
PASSAGE = (
    "Ada Lovelace wrote the first program in 1843, for a machine that was never built. She kept {} in her garden. "
    "Her notes were read again a century later, when the first computers were switched on."
)
DRAWN = f"""async (word) => {{
  {SCRIPT}
  const parts = () => [...document.querySelectorAll(".st-key-hero [data-testid=stBidiComponentIsolated]")];
  const explorer = ({{ shadowRoot }}) => shadowRoot?.querySelector(".explorer[data-head]")?.explorer;
  const explorers = () => parts().map(explorer).filter(Boolean);
  const tokens = (explorer) => (explorer.state.current ? explorer.state.overview.keys.map(([text]) => text) : []);
  const pictures = ({{ shadowRoot }}) => [...(shadowRoot?.children ?? [])].filter(({{ tagName }}) => tagName !== "STYLE");
  const texts = () => parts().flatMap(pictures).map(({{ textContent }}) => textContent);
  const shown = () => (explorers().length ? explorers().flatMap(tokens) : texts());
  const began = performance.now();
  button("Run").click();
  await until(() => shown().join(" ").includes(word), `a picture of ${{word}}`);
  await drawn();
  return (performance.now() - began) / 1000;
}}"""

# On the browser's own clock; what a component draws is in its shadow.
SWITCHED = f"""async (name) => {{
  {SCRIPT}
  const parts = () => [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
  const says = () => parts().some(({{ shadowRoot }}) => shadowRoot?.querySelector(".said"));
  const began = performance.now();
  button(`${{name}} off`).click();
  await until(() => says() && button(`${{name}} on`), name);
  await drawn();
  return (performance.now() - began) / 1000;
}}"""


@dataclass(frozen=True)
class Waiting:
    """A page on which Run is pressed again and again: `limit` in seconds, for the median of at most so many runs."""

    page: str
    text: str
    runs: int
    limit: float
    warm_up: int = 3

    def measure(self, page: Page, app: App, most: int = 100) -> list[float]:
        """Seconds from pressing Run to the picture of a new text, on the browser's own clock."""
        page.goto(f"{app.url}/{self.page}")
        page.locator(".st-key-hero").wait_for()
        page.wait_for_timeout(min(3000, 500 * most))
        seconds, warm_up = [], min(self.warm_up, most - 1)
        for word in WALKERS.split()[: min(self.runs, most) + warm_up]:
            box = page.locator("[class*=st-key-prompt] textarea").first
            box.fill(self.text.format(word))
            # A person's click takes the focus from the text, which hands it to the form; a script's does not.
            box.blur()
            page.wait_for_timeout(300)
            seconds.append(page.evaluate(DRAWN, word))
            page.wait_for_timeout(700)
        return seconds[warm_up:]


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


def rest(page: Page) -> None:
    page.wait_for_timeout(300)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached")
    page.wait_for_timeout(500)


def edit_waits(page: Page, app: App, path: str, heads: int) -> list[float]:
    """Seconds from the press to the table or tokens that say what changed, for each of some heads."""
    seconds = []
    for head in range(heads):
        page.goto(f"{app.url}/{path}?editing=true&layer=1&head={head % 4}&all_heads=false{EDIT_QUERIES[path]}")
        name = f"Switch L1·H{head % 4}"
        page.get_by_role("button", name=f"{name} off").wait_for()
        rest(page)
        seconds.append(page.evaluate(SWITCHED, name))
        rest(page)
    return seconds


def first_picture(browser: Browser, app: App, path: str, start: float | None = None) -> float:
    """Seconds until a new browser shows a page at its empty address; `start`: when the server was started."""
    with page_of(browser) as page:
        page.add_init_script(f"window.pictured = {PICTURED}")
        start = start or time.time()
        page.goto(f"{app.url}/{path}", wait_until="commit")
        seconds = page.evaluate("window.pictured") - start
        rest(page)
    return seconds


def first_rows(browser: Browser, app: App, start: float, paths: Sequence[str], runs: int) -> Iterator[Row]:
    """Home on a new server and in a new browser, what that takes, and the first example of every other page."""
    yield at_most("server start to first picture", first_picture(browser, app, "", start), START_LIMIT)
    seconds = [first_picture(browser, app, "") for _ in range(min(3, runs))]
    yield at_most("Home in a new browser", statistics.median(seconds), FRESH_LIMIT)
    yield at_most("memory after Home", app.megabytes(), MEGABYTES, "MB")
    for path in paths:
        yield at_most(f"{path}: first example", first_picture(browser, app, path), FIRST_LIMIT)


def rows(given: Namespace) -> Iterator[Row]:
    """The first picture of a new server, then the next ones of each page, and those of a head that is switched off."""
    with browsing() as browser, page_of(browser) as page:
        start = time.time()
        with serving(given.server) as app:
            yield from first_rows(browser, app, start, given.first, given.runs)
            for name, waiting in [*waits().items()][: given.pages]:
                seconds = waiting.measure(page, app, given.runs)
                yield at_most(name, statistics.median(seconds), waiting.limit, note=f", at most {max(seconds):.2f} s")
            for path in given.edited:
                # The first head loads the model, and is not counted beside others.
                seconds = edit_waits(page, app, path, min(5, given.runs))
                median = statistics.median(seconds[1:] or seconds)
                yield at_most(f"{path}: head off to picture and output", median, EDIT_LIMITS[path])


if __name__ == "__main__":
    firsts = [page.name for page in PAGES if page.name not in WITHOUT_PICTURE]
    sizes = {"runs": (15, 1), "pages": (5, 1), "edited": ([*EDIT_LIMITS], ["encode"]), "first": (firsts, ["encode"])}
    run(rows, minutes=15, sizes=sizes)
