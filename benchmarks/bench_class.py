"""A class at once: visits that each open Encode and Translate in turn, with a sentence of their own; then all pages in turn.

Linux only. Seconds are from asking for a sentence that nobody has asked for to the last element of its page, on the wire; how
long a browser then draws it, bench_page.py measures. The visits take processor time from the server that they measure.
"""

import random
import re
import statistics
import threading
import time
from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping

from websockets.exceptions import WebSocketException

from attnviz.models import catalog
from attnviz.ui.background.jobs import BUSY
from benchmarks.harness import App, Row, at_most, none, run, serving
from benchmarks.visitor import Visit, p95

GROWTH, PEAK_MB = 1.10, 1_500
# Seconds that all but one page in twenty may take, in a class and when more visits than a class walk over all pages.
LIMITS = {"encode": 3.0, "translate": 3.0}
SHORT, LONG = 1.5, 20.0
CROWD = {
    "home": SHORT, "encode": SHORT, "translate": SHORT, "answer": SHORT, "summarize": SHORT, "compute": SHORT, "train": SHORT,
    "lessons": SHORT, "whatif": LONG, "matters": LONG, "heads": LONG,
}  # fmt: skip
# What the address says besides the text.
OPTIONS = {
    "translate": {"models": "bahdanau-en-fr"}, "answer": {"question": "Who has it?"}, "whatif": {"change": "head"},
    "matters": {"model": "minilm", "pair": "The dog sleeps in the garden."},
}  # fmt: skip
WITHOUT_TEXT = {"compute", "train", "lessons", "heads"}
OTHERS = re.compile(r"It has (\d{4}) of them")
COMMON = ["the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "on", "with", "as", "be", "at", "by", "this", "had"]
WHO = ["cat", "dog", "teacher", "old man", "doctor", "child", "neighbour", "driver", "queen", "baker", "singer", "farmer"]
DOES = ["likes", "sees", "wants", "has", "finds", "loses", "buys", "sells", "takes", "gives", "knows", "forgets"]
WHAT = ["red car", "small house", "new book", "blue hat", "black horse", "white dress", "warm coat", "big tree", "cold water"]


def sentence(draw: random.Random) -> str:
    """A sentence of some nine words, one of many thousands."""
    first, second = (f"the {draw.choice(WHO)} {draw.choice(DOES)}" for _ in range(2))
    return f"{first.capitalize()} the {draw.choice(WHAT)}, and {second} it."


def student(app: App, number: int, pause: float, ends: float, seconds: dict[str, list[float]], errors: list[str]) -> None:
    """One visit until the lesson ends, on all pages of `seconds` in turn."""
    pages = list(seconds)
    draw = random.Random(number)
    time.sleep(pause * draw.random())
    visit = Visit(app)
    turn = number
    while turn == number or time.monotonic() < ends:
        before, page = pages[(turn - 1) % len(pages)], pages[turn % len(pages)]
        if turn > number and before.partition(":")[0] == page.partition(":")[0]:
            # Who opens an address of the page that stands there gets it from a new visit.
            visit.close()
            errors += visit.errors
            visit = Visit(app)
        # The number is this visit's own: nobody else may see it.
        own = f"{sentence(draw)} It has {number + 1000} of them."
        took = _ask(visit, page, own)
        seconds[page].append(took)
        if own not in visit.shown and page not in WITHOUT_TEXT:
            errors.append(f"{page} does not show what was asked for")
        errors += [f"{page} shows the text of another" for other in OTHERS.findall(visit.shown) if other != str(number + 1000)]
        turn += 1
        time.sleep(max(pause - took, 0))
    visit.close()
    errors += visit.errors


def warm_up(app: App, pages: Collection[str]) -> None:
    """Opens pages with a text of their own, so that the server has loaded their models: what they show at first needs none."""
    visit = Visit(app)
    for page in pages:
        _ask(visit, page, sentence(random.Random(0)))
    visit.close()


def _ask(visit: Visit, page: str, text: str) -> float:
    """Opens a page ("translate", or "translate:" and a model) with that text; seconds until its last element has come."""
    page, _, model = page.partition(":")
    if page == "heads":
        # A pattern that nobody has asked for, of words that every corpus has.
        return visit.open(page, claim=f"/{'|'.join(random.sample(COMMON, 3))}/ -> next")
    texts = {} if page in WITHOUT_TEXT else {"passage" if page == "answer" else "text": text}
    models = {"model" if page == "summarize" else "models": model} if model else {}
    return visit.open(page, **texts, **OPTIONS.get(page, {}) | models)


def every_model() -> dict[str, float]:
    """Translate, Answer and Summarize with each model that travels with attnviz."""
    return {f"{page}:{name}": LONG for page in ("translate", "answer", "summarize") for name in catalog.available_for(page)}


def lesson(
    app: App, visits: int, pause: float, length: float, pages: Collection[str]
) -> tuple[dict[str, list[float]], list[str], list[float]]:
    """Seconds of every page, what went wrong, and the megabytes of the server, once a second."""
    seconds: dict[str, list[float]] = {page: [] for page in pages}
    errors: list[str] = []
    ends = time.monotonic() + length

    def attend(number: int) -> None:
        try:
            student(app, number, pause, ends, seconds, errors)
        except (OSError, WebSocketException) as error:
            errors.append(f"a visit ended early: {error!r}")

    threads = [threading.Thread(target=attend, args=(number,), daemon=True) for number in range(visits)]
    for each in threads:
        each.start()
    memory = [app.megabytes()]
    while any(each.is_alive() for each in threads):
        time.sleep(min(1.0, length / 4))
        memory.append(app.megabytes())
    return seconds, errors, memory


def lesson_rows(app: App, visits: int, pause: float, length: float, limits: Mapping[str, float]) -> Iterator[Row]:
    """A lesson: how long its pages took, what the server held, and what went wrong."""
    seconds, errors, memory = lesson(app, visits, pause, length, limits)
    for page, actual in seconds.items():
        told = f" of {len(actual)} pictures, median {statistics.median(actual):.2f} s"
        yield at_most(f"{visits} visits, {page}: all but one in twenty", p95(actual), limits[page], note=told)
        yield at_most(f"{visits} visits, {page}: the slowest", max(actual), LONG)
    first = memory[len(memory) // 3]
    yield at_most(f"{visits} visits: memory at the end, against that after a third", memory[-1] / first, GROWTH, "×")
    yield at_most(f"{visits} visits: memory at most", max(memory), PEAK_MB, "MB")
    busy = errors.count(BUSY)
    yield Row(f"{visits} visits: pages that said that there is too much to do", f"{busy} of {sum(map(len, seconds.values()))}")
    yield none(f"{visits} visits: errors, and texts of others", [error for error in errors if error != BUSY])


def rows(given: Namespace) -> Iterator[Row]:
    """A lesson of a server that has its models, and more visits than a class over all pages."""
    with serving(given.server) as app:
        if given.seconds:
            warm_up(app, LIMITS)
            yield from lesson_rows(app, given.visits, given.pause, given.seconds, LIMITS)
        if given.crowded:
            limits = {page: CROWD[page] for page in given.pages} | (every_model() if given.models else {})
            warm_up(app, limits)
            yield from lesson_rows(app, given.crowd, given.pause, given.crowded, limits)


if __name__ == "__main__":
    sizes = {"visits": (30, 2), "pause": (10.0, 0.5), "seconds": (300.0, 1.0), "crowd": (60, 2), "crowded": (180.0, 1.0)}
    run(rows, minutes=25, sizes={**sizes, "pages": ([*CROWD], ["home", "answer"]), "models": (False, False)})
