"""How the page Train behaves, in Chromium: how soon models align, what others notice of it, and what is left behind.

    python -m benchmarks.bench_train [learn] [others] [leave]     all three where none is named

learn   seconds from pressing Start until the page shows the bar: reverse in five seeds, dates, and a Transformer on reverse
others  Encode's run-to-picture alone, and while two browsers train; a third who presses Start is told why it waits
leave   threads and memory of the server before and after twenty runs that were stopped, paused, or whose tab was closed

Exits 1 where a bar is missed. Each line has the machine's load beside it: the bars are meant for two cores with nothing else.
"""

import os
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from attnviz.training.live import PATIENCE_SECONDS
from benchmarks.bench_page import ARGUMENTS, waits
from tests.browser import chromium
from tests.browser.harness import ROOT, serving

LOADED = 120_000
LONG = "task=dates&steps=5000"
ROUNDS, WARM_UP = 20, 3
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


def open_train(page: Page, address: str, query: str) -> None:
    page.goto(f"{address}/train?{query}")
    page.locator(".examples").wait_for(timeout=LOADED)
    page.get_by_role("button", name="Start", exact=True).wait_for(timeout=LOADED)
    page.wait_for_timeout(500)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def figures(page: Page) -> tuple[float, float]:
    """The accuracy and the error rate that the page shows; the worst there are while it is being drawn."""
    actual = page.locator(".curve strong").all_inner_texts()
    return (float(actual[0].rstrip("%")) / 100, float(actual[1])) if len(actual) > 1 else (0.0, 1.0)


def learned(page: Page, address: str, goal: Goal) -> float:
    """Seconds from Start until the goal is on the page; infinite where it does not come within three times its limit."""
    open_train(page, address, goal.query)
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
    if stop.count():
        stop.click()
    return seconds


def learn(browser: Browser, address: str) -> bool:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    within = {}
    for goal in GOALS:
        seconds = learned(page, address, goal)
        within[goal.name] = seconds <= goal.seconds
        print(f"{goal.name:44}{seconds:>8.1f}s{goal.seconds:>8.0f}s   {load()}", flush=True)
    page.close()
    reversed_ = sum(within[goal.name] for goal in REVERSE)
    return reversed_ >= 4 and all(within[goal.name] for goal in GOALS if goal not in REVERSE)


def others(browser: Browser, address: str) -> bool:
    encode = next(iter(waits().values()))
    reader = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
    alone = statistics.median(encode.measure(reader, address))
    print(f"{'Encode alone':44}{alone:>8.2f}s{'':9}   {load()}", flush=True)
    trainers = [browser.new_context().new_page() for _ in range(3)]
    for page in trainers:
        open_train(page, address, LONG)
        press(page, "Start")
        page.wait_for_timeout(1000)
    message = trainers[2].get_by_text("Waiting.").count() == 1
    print(f"{'the third who starts is message why it waits':44}{'yes' if message else 'no':>9}", flush=True)
    busy = statistics.median(encode.measure(reader, address))
    print(f"{'Encode while two train':44}{busy:>8.2f}s{2 * alone:>8.2f}s   {load()}", flush=True)
    for page in [*trainers, reader]:
        page.context.close()
    return message and busy <= 2 * alone


def leave(browser: Browser, address: str) -> bool:
    server = process(address)
    begin_and_leave(browser, address, WARM_UP)
    before = state(server)
    begin_and_leave(browser, address, ROUNDS)
    after = state(server)
    print(f"{f'threads before and after {ROUNDS} runs':44}{before[0]:>8} {after[0]:>8}   no more", flush=True)
    print(f"{'memory before and after, MB':44}{before[1]:>8.0f} {after[1]:>8.0f}   at most {MOST_MB} more", flush=True)
    return after[0] <= before[0] and after[1] - before[1] <= MOST_MB


def begin_and_leave(browser: Browser, address: str, rounds: int) -> None:
    """Runs that are begun and stopped, paused, or whose tab is closed; back when the server has noticed all of it."""
    ends: list[Callable[[Page], None]] = [lambda page: press(page, "Stop"), lambda page: press(page, "Pause"), Page.close]
    for number in range(rounds):
        page = browser.new_page()
        open_train(page, address, LONG)
        press(page, "Start")
        page.wait_for_timeout(1500)
        ends[number % 3](page)
        if not page.is_closed():
            page.wait_for_timeout(500)
            page.close()
    time.sleep(2 * PATIENCE_SECONDS)
    # The server's pool for files lets go of idle threads when it is asked for one.
    urllib.request.urlopen(address).close()


def process(address: str) -> int:
    """The process that serves an address."""
    port = f"--server.port\0{urlsplit(address).port}\0"
    return next(int(path.parent.name) for path in Path("/proc").glob("[0-9]*/cmdline") if port in path.read_text())


def state(server: int) -> tuple[int, float]:
    """How many threads a process has, and how many megabytes of memory."""
    message = dict(line.split(":", 1) for line in Path(f"/proc/{server}/status").read_text().splitlines())
    return int(message["Threads"]), int(message["VmRSS"].split()[0]) / 1024


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main(names: list[str]) -> int:
    parts = {"learn": learn, "others": others, "leave": leave}
    if unknown := set(names) - set(parts):
        print(f"parts are {', '.join(parts)}; not {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    met = True
    for name in names or parts:
        with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
            with serving([sys.executable, "-m", "attnviz.cli"], folder=ROOT, log=Path(folder) / "log.txt") as address:
                met &= parts[name](browser, address)
            browser.close()
    return int(not met)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
