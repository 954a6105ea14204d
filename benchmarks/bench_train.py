"""How the page Train behaves, in Chromium: how soon models align, what others notice of it, and what is left behind.

learn   seconds from pressing Start until the page shows the bar: reverse in five seeds, dates, and a Transformer on reverse
others  Encode's run-to-picture alone, and while two browsers train; a third who presses Start is told why it waits
leave   threads and memory of the server before and after twenty runs that were stopped, paused, or whose tab was closed

Linux only. Needs Chromium. The bars are meant for two cores with nothing else.
"""

import statistics
import time
import urllib.request
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from playwright.sync_api import Browser, Page, TimeoutError

from attnviz.training.background_run import PATIENCE_SECONDS
from benchmarks.bench_page import waits
from benchmarks.harness import App, Row, at_most, browsing, none, page_of, run, serving, status

LONG = "task=dates&steps=5000"
WARM_UP = 3
MOST_MB = 100


@dataclass(frozen=True)
class Goal:
    """What a page must show, and within how many seconds: shares of sequences right, and an alignment error rate."""

    name: str
    query: str
    seconds: float
    accuracy: float
    error: float = 1.0


REVERSE = [Goal(f"reverse, additive, seed {seed}", f"first={seed}", 15, 0.95, 0.05) for seed in range(1, 6)]
GOALS = [
    *REVERSE,
    Goal("dates, additive", "task=dates&steps=300", 90, 0.9),
    Goal("reverse, one-layer Transformer", "kind=transformer&steps=1000", 60, 0.95, 0.05),
]


def open_train(page: Page, app: App, query: str) -> None:
    page.goto(f"{app.url}/train?{query}")
    page.locator(".sequence").wait_for()
    page.get_by_role("button", name="Start", exact=True).wait_for()
    page.wait_for_timeout(500)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def figures(page: Page) -> tuple[float, float]:
    """The accuracy and the error rate that the page shows; worse than the worst while it shows none."""
    actual = page.locator(".curve strong").all_inner_texts()
    return (float(actual[0].rstrip("%")) / 100, float(actual[1])) if len(actual) > 1 else (-1.0, 2.0)


def learned(page: Page, app: App, goal: Goal) -> float:
    """Seconds from Start until the goal is on the page; infinite where it does not come within three times its limit."""
    open_train(page, app, goal.query)
    start = time.perf_counter()
    press(page, "Start")
    while (seconds := time.perf_counter() - start) < 3 * goal.seconds:
        accuracy, error = figures(page)
        if accuracy >= goal.accuracy and error <= goal.error:
            break
        page.wait_for_timeout(100)
    else:
        seconds = float("inf")
    stop = page.get_by_role("button", name="Stop", exact=True)
    # It may have come to its end by itself.
    with suppress(TimeoutError):
        stop.click(timeout=2_000)
    return seconds


def learn(browser: Browser, app: App, given: Namespace) -> Iterator[Row]:
    """How soon each model aligns; of five seeds one may be late."""
    goals = [Goal("reverse, additive, a few steps", "steps=20", 15, 0.0)] if given.smoke else GOALS
    with page_of(browser) as page:
        late = 0
        for goal in goals:
            row = at_most(goal.name, learned(page, app, goal), goal.seconds)
            late += not row.met
            is_excused = goal in REVERSE and late == 1
            yield Row(row.what, row.measured, f"{row.bar}, or four of five seeds") if is_excused and not row.met else row


def others(browser: Browser, app: App, given: Namespace) -> Iterator[Row]:
    """Encode while others train."""
    encode = next(iter(waits().values()))
    reader = browser.new_context().new_page()
    alone = statistics.median(encode.measure(reader, app, given.runs))
    yield Row("Encode alone", f"{alone:.2f} s")
    trainers = [browser.new_context().new_page() for _ in range(3)]
    for page in trainers:
        open_train(page, app, LONG)
        press(page, "Start")
        page.wait_for_timeout(1000)
    is_told = trainers[2].get_by_text("Waiting.").count() == 1
    yield none("the third who starts is not told that it waits", [] if is_told else ["nothing says so"])
    busy = statistics.median(encode.measure(reader, app, given.runs))
    yield at_most("Encode while two train", busy, 2 * alone)
    for page in [*trainers, reader]:
        page.context.close()


def leave(browser: Browser, app: App, given: Namespace) -> Iterator[Row]:
    """What is left behind of runs that were begun."""
    server = app.process
    begin_and_leave(browser, app, min(WARM_UP, given.rounds))
    threads, memory = status(server, "Threads"), app.megabytes()
    begin_and_leave(browser, app, given.rounds)
    yield at_most(f"threads after {given.rounds} runs", status(server, "Threads"), threads, "threads")
    yield at_most(f"memory that {given.rounds} runs leave", app.megabytes() - memory, MOST_MB, "MB")


def begin_and_leave(browser: Browser, app: App, rounds: int) -> None:
    """Runs that are begun and stopped, paused, or whose tab is closed; back when the server has noticed all of it."""
    ends: list[Callable[[Page], None]] = [lambda page: press(page, "Stop"), lambda page: press(page, "Pause"), Page.close]
    for number in range(rounds):
        page = browser.new_page()
        open_train(page, app, LONG)
        press(page, "Start")
        page.wait_for_timeout(1500)
        ends[number % 3](page)
        if not page.is_closed():
            page.wait_for_timeout(500)
            page.close()
    time.sleep(2 * PATIENCE_SECONDS)
    # The server's pool for files lets go of idle threads when it is asked for one.
    urllib.request.urlopen(app.url, timeout=60).close()


PARTS = {"learn": learn, "others": others, "leave": leave}


def rows(given: Namespace) -> Iterator[Row]:
    """Each part with a server and a browser of its own."""
    for part in given.parts:
        with serving(given.server) as app, browsing() as browser:
            yield from PARTS[part](browser, app, given)


if __name__ == "__main__":
    run(rows, minutes=20, sizes={"parts": ([*PARTS], ["learn"]), "runs": (15, 1), "rounds": (20, 1)})
