"""The page without a server, in Chromium: bytes and times of a visit, hostile addresses and texts, and the app's links.

A site is built, unless `--site` names a folder that has one. Bytes are those of files as a server sends them, with gzip.
"""

import gzip
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit

import psutil
from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as PageError

from attnviz.live.graphs.models import exportable
from attnviz.live.page_html import SITE_PAGES
from attnviz.live.site import build
from attnviz.pages_and_addresses import AppPage
from attnviz.text.corpora import TREEBANK, shipped
from attnviz.text.words import Words
from benchmarks.harness import Row, at_most, browsing, none, run, serving, status
from benchmarks.site_links import compared
from tests.browser.harness import Watch
from tests.fuzz import Case, address, sendable, text

HERO, NOTICE = "#hero[data-drawn]:not([hidden])", "#notice:not([hidden])"
# In bytes: the first picture of any page; and what typing costs besides, with a model of each kind.
FIRST = 180_000
# And with what the service worker fetches behind it, so that every page opens without a network.
KEPT = 750_000
TYPED = {"minilm": 36e6, "dot-lstm-en-fr": 14e6, "transformer-en-fr": 22e6}
PAGE_OF = {"minilm": "encode", "dot-lstm-en-fr": "translate", "transformer-en-fr": "translate"}
# In ms: of a warm model, by how many tokens or words a text has.
WARM = {"minilm": ((16, 60), (128, 400), (512, 4000)), "transformer-en-fr": ((10, 250),)}
OPENS, BLOCKED, MEGABYTES = 1000, 50, 450
# Lessons have their own tests.
LESSON = "---\ntitle: Short\nminutes: 1\nmodels: minilm\n---\n\n## Look\n\nThere is nothing to answer.\n"
WORDS = "house dog tree river bridge town bread street garden window letter summer winter island mountain school".split()  # noqa: SIM905
# When the picture was drawn, since the page was asked for; and how long the page could not answer a click.
WATCHED = """
window.blocked = [];
const noted = (list) => blocked.push(...list.getEntries().map(({ duration }) => duration));
new PerformanceObserver(noted).observe({ type: "longtask", buffered: true });
new MutationObserver((_, observer) => {
  if (!document.querySelector("#hero[data-drawn]")) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => (window.drawnAt = performance.now())));
}).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-drawn"] });
"""
RUN = """(text) => new Promise((resolve, reject) => {
  const [hero, box, notice] = ["#hero", "#box-text", "#notice"].map((place) => document.querySelector(place));
  box.value = text;
  blocked.length = 0;
  const begun = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect();
    if (hero.hidden) return reject(new Error(notice.textContent));
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - begun)));
  });
  observer.observe(hero, { attributes: true, attributeFilter: ["data-drawn", "hidden"] });
  document.querySelector("#typed button").click();
})"""
# What a page must not have, whatever was typed; and what stands where something was not understood.
BROKEN = """() => {
  const selector = "iframe, object, embed, img, script:not(#config), a[href^='javascript']";
  const found = [...document.querySelectorAll(`main :is(${selector})`)].map(({ outerHTML }) => outerHTML);
  const seen = document.querySelector("main").innerText;
  const odd = ["[object ", "undefined", "NaN", "Traceback", "TypeError", "Error:"].filter((each) => seen.includes(each));
  const { hidden, textContent: said } = document.querySelector("#notice");
  const isSentence = /^[\\p{L}“].{10,400}[.!?]$/su.test(said) && !said.startsWith("This text could not be read: ");
  return [...found, ...odd, ...(hidden || isSentence ? [] : [said])];
}"""


class Files(SimpleHTTPRequestHandler):
    """Gives out a folder, and notes what was fetched."""

    fetched: ClassVar[list[str]] = []

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing of what was asked."""

    def send_response(self, code: int, message: str | None = None) -> None:
        # Where a browser has a file already, it is told that it did not change.
        if code == HTTPStatus.OK:
            Files.fetched.append(urlsplit(self.path).path)
        super().send_response(code, message)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder's files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()


def compressed(folder: Path, asked: list[str]) -> int:
    """Count the bytes of files as they travel."""
    size = 0
    for name in set(asked):
        path = folder / name.lstrip("/")
        data = (path / "index.html" if path.is_dir() else path).read_bytes()
        size += min(len(data), len(gzip.compress(data)))
    return size


def pictured(folder: Path) -> list[AppPage]:
    """List the pages of a site that have a picture; one that none of its models is for says so instead."""
    return [page for page in SITE_PAGES if 'id="hero"' in (folder / page.name / "index.html").read_text(encoding="utf-8")]


def fetched_bytes(what: str, folder: Path, limit: int) -> Row:
    """Say how many bytes were fetched; no matter of speed, so that a smoke run holds it."""
    return replace(at_most(what, compressed(folder, Files.fetched) / 1e3, limit / 1e3, "kB"), exact=True)


@contextmanager
def visit(browser: Browser, problems: list[str], **options: Any) -> Iterator[Page]:
    """A page of a browser that has never been anywhere; what goes wrong on it is added to `problems`."""
    options.setdefault("service_workers", "block")
    with browser.new_context(**options) as context:
        watch = Watch(context)
        context.add_init_script(WATCHED)
        yield context.new_page()
        problems += watch.problems


def opened(page: Page, url: str) -> float:
    """Open a page; return in how many milliseconds its picture stood there."""
    page.goto(url)
    page.wait_for_function("() => window.drawnAt", timeout=60_000)
    return page.evaluate("() => drawnAt")


def typed(page: Page, words: str) -> float:
    """Type a text and run it; return in how many milliseconds its picture stood there."""
    return page.evaluate(RUN, words)


def several(n: int) -> Iterator[str]:
    """Make ever other texts of so many words."""
    for first in count():
        yield " ".join(WORDS[(first + place * (1 + first // len(WORDS))) % len(WORDS)] for place in range(n))


def first_pictures(browser: Browser, url: str, folder: Path, given: Namespace) -> Iterator[Row]:
    """What a first visit of each page fetches, and how soon its picture stands."""
    problems: list[str] = []
    for name in (page.name for page in pictured(folder)):
        times = []
        for _ in range(given.runs):
            Files.fetched.clear()
            with visit(browser, problems) as page:
                times.append(opened(page, f"{url}/{name}/"))
                page.wait_for_load_state("networkidle")
        yield fetched_bytes(f"{name}: bytes of the first picture", folder, FIRST)
        yield at_most(f"{name}: first picture, best of {given.runs}", min(times), OPENS, "ms")
    yield none("first visits: errors, and requests elsewhere", problems)


def runs(browser: Browser, url: str, folder: Path, given: Namespace) -> Iterator[Row]:
    """What typing costs with each model, and how long a warm one takes."""
    for model, limit in TYPED.items():
        if not list(folder.glob(f"models-*/{model}")):
            continue
        problems: list[str] = []
        Files.fetched.clear()
        with visit(browser, problems) as page:
            opened(page, f"{url}/{PAGE_OF[model]}/?models={model}&model={model}")
            memory = TabMemory()
            typed(page, "I saw the two old dogs near the house today.")
            page.wait_for_load_state("networkidle")
            fetched = [name for name in Files.fetched if name.startswith("/models-")]
            yield at_most(f"{model}: bytes of a first text", compressed(folder, fetched) / 1e6, limit / 1e6, "MB")
            yield from warm(page, model, given.runs)
            private, whole = memory.most()
            note = f", {whole:.0f} MB with the browser's code, which tabs share"
            yield at_most(f"{model}: private memory of the tab at most", private, MEGABYTES, "MB", note)
        yield none(f"{model}: errors, and requests elsewhere", problems)


class TabMemory:
    """The most memory that a tab holds from now on: its own is looked at a hundred times a second."""

    def __init__(self) -> None:
        children = psutil.Process().children(recursive=True)
        self.tabs = [each.pid for each in children if "--type=renderer" in each.cmdline()]
        self.private = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.ended.wait(0.01):
            self.private = max(self.private, *(status(each, "RssAnon") + status(each, "RssShmem") for each in self.tabs))

    def most(self) -> tuple[float, float]:
        """Stop looking; return what is private, and all that was ever held, in MB."""
        self.ended.set()
        self.thread.join()
        return self.private / 1024, max(status(each, "VmHWM") for each in self.tabs) / 1024


def warm(page: Page, model: str, n: int) -> Iterator[Row]:
    """Time texts of each size, and the longest time for which the page answered nothing."""
    for size, limit in WARM.get(model, ()):
        texts = several(size - 2 if model == "minilm" else size)
        times, blocked = [], [0.0]
        for words in islice(texts, n + 1):
            times.append(typed(page, words))
            blocked.append(max(page.evaluate("() => blocked"), default=0.0))
        what = f"{model}: {size} {'tokens' if model == 'minilm' else 'words'}"
        yield at_most(f"{what}, best of {n}", min(times[1:]), limit, "ms")
        yield at_most(f"{what}, longest time blocked", min(blocked[2:]), BLOCKED, "ms", f", {max(blocked):.0f} ms at worst")


def kept(browser: Browser, url: str, folder: Path) -> Iterator[Row]:
    """What is fetched twice by a visit that the browser keeps."""
    name = pictured(folder)[0].name
    Files.fetched.clear()
    problems: list[str] = []
    with visit(browser, problems, service_workers="allow") as page:
        opened(page, f"{url}/{name}/")
        page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
        page.wait_for_load_state("networkidle")
        yield fetched_bytes("bytes of a first visit that is kept", folder, KEPT)
        typed(page, "I saw the two old dogs near the house today.")
        page.wait_for_load_state("networkidle")
    # A page is asked for by its address, and looked for again when the browser starts the script that keeps it.
    twice = [each for each in set(Files.fetched) if Files.fetched.count(each) > 1 and not each.endswith("service_worker.js")]
    yield none("files fetched twice", twice)
    yield none("a visit that is kept: errors, and requests elsewhere", problems)


def words(browser: Browser, url: str, folder: Path, n: int) -> Iterator[Row]:
    """How many of the treebank's sentences this browser cuts into other words than the app."""
    (module,) = folder.glob("models-*/runner/bert_tokens.js")
    texts = [each.text for each in shipped(TREEBANK)][:n]
    with visit(browser, []) as page:
        page.goto(f"{url}/{SITE_PAGES[0].name}/")
        source = f"import('{url}/{module.relative_to(folder)}').then(({{ wordSpans }}) => texts.map(wordSpans))"
        cut = page.evaluate(f"(texts) => {source}", texts)
    other = [text for text, spans in zip(texts, cut, strict=True) if [tuple(each) for each in spans] != [*Words.of(text).spans]]
    yield none(f"of {len(texts):,} sentences, those cut into other words", other)


def hostile(browser: Browser, url: str, folder: Path, given: Namespace) -> Iterator[Row]:
    """Addresses and texts that nobody would write: each ends in a picture or a sentence, and nothing runs."""
    pages = pictured(folder)
    names = {page.name for page in pages}
    cases = (address(Case(given.seed, number, "site")) for number in count())
    problems: list[str] = []
    with visit(browser, problems) as page:
        # Models have their own tests: what is typed here is told that none came.
        page.route("**/models/**", lambda route: route.fulfill(status=404))
        for name, query in islice((case for case in cases if case[0] in names), given.addresses):
            problems += settled(page, f"{url}/{name}/?{urlencode(sendable(query), doseq=True)}")
    yield none(f"{given.addresses} hostile addresses: what broke", [each for each in problems if "404" not in each])
    problems = []
    with visit(browser, problems) as page:
        for each in pages:
            problems += settled(page, f"{url}/{each.name}/")
            for number in range(given.texts if each.boxes else 0):
                problems += hostile_text(page, [*each.boxes], number, given.seed)
    yield none(f"{given.texts} hostile texts on each page with a box: what broke", problems)


def settled(page: Page, url: str) -> list[str]:
    """What is wrong with a page that was opened."""
    try:
        page.goto(url)
        page.wait_for_selector(f"{HERO}, {NOTICE}", timeout=60_000)
        return [f"{each} at {url}"[:400] for each in page.evaluate(BROKEN)]
    except PageError as error:
        return [f"{str(error)[:200]} at {url}"[:600]]


def hostile_text(page: Page, boxes: list[str], number: int, seed: int) -> list[str]:
    """What is wrong with a page where a text was typed into every box."""
    draw = Case(seed, number, "text").draw
    for box in boxes:
        place = page.locator(f"#box-{box}")
        if not place.is_visible():
            page.get_by_text("Second sentence").click()
        place.fill(text(draw).encode("utf-8", "replace").decode())
    before = page.locator("#hero").get_attribute("data-drawn")
    page.locator("#typed button").click()
    done = f"#hero[data-drawn]:not([data-drawn='{before}']):not([hidden]), {NOTICE}"
    try:
        page.wait_for_selector(done, timeout=60_000)
        page.wait_for_selector("#busy", state="hidden", timeout=60_000)
        return [f"{each} for text {number}"[:400] for each in page.evaluate(BROKEN)]
    except PageError as error:
        return [f"{str(error)[:200]} for text {number} at {page.url[:60]}"]


def rows(given: Namespace) -> Iterator[Row]:
    """A site in a browser."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(given.site or place) / ("" if given.site else "site")
        if not given.site:
            lesson = Path(place) / "short.md"
            lesson.write_text(LESSON, encoding="utf-8")
            build(folder, given.models, [lesson], report=lambda _: None)
        with served(folder) as url, browsing() as browser:
            yield from first_pictures(browser, url, folder, given)
            yield from runs(browser, url, folder, given)
            yield from kept(browser, url, folder)
            yield from words(browser, url, folder, given.sentences)
            yield from hostile(browser, url, folder, given)
            if given.links:
                with serving(given.server) as app:
                    begun = time.monotonic()
                    yield from compared(browser, url, app.url, folder, given.links)
                    yield Row("seconds for the links", f"{time.monotonic() - begun:.0f}")


if __name__ == "__main__":
    sizes = {
        "site": ("", ""),
        "models": ([*exportable()], ["dot-lstm-en-fr"]),
        "runs": (5, 1),
        "addresses": (200, 2),
        "texts": (20, 1),
        "sentences": (1500, 60),
        "links": (60, 1),
        "seed": (1, 1),
    }
    run(rows, minutes=60, sizes=sizes)
