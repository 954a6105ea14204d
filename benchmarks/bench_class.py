"""A class at once: visits that each open Encode and Translate in turn, with a sentence of their own, again and again.

    python benchmarks/bench_class.py                  30 visits, 10 s apart, 5 minutes
    python benchmarks/bench_class.py 12 10 60         12 visits, 10 s apart, one minute

Linux only. Exits 1 where a page said an error, where more than one picture in twenty took over 3 s, or where memory grew by
over 10 % after the first minute, or over 1.5 GB. Seconds are from asking for a sentence that nobody has asked for to the last
element of its page, on the wire: what a browser then takes to draw it is its own, and bench_page.py has it. On one machine the
visits take processor time from the server that they measure.
"""

import random
import re
import statistics
import sys
import threading
import time
from collections.abc import Sequence

from benchmarks.visitor import App, Visit, serving

PORT = 8642
P95_SECONDS, GROWTH, PEAK_MB = 3.0, 1.10, 1_500
PAGES = ("encode", "translate")
# What the address says besides the text.
OPTIONS = {"translate": {"models": "bahdanau-en-fr"}, "answer": {"question": "Who has it?"}}
OTHERS = re.compile(r"It has (\d{4}) of them")
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
    while time.monotonic() < ends:
        page = pages[turn % len(pages)]
        # The number is this visit's own: nobody else may see it.
        own = f"{sentence(draw)} It has {number + 1000} of them."
        took = visit.open(page, **{"passage" if page == "answer" else "text": own}, **OPTIONS.get(page, {}))
        seconds[page].append(took)
        if own not in visit.shown:
            errors.append(f"{page} does not show what was asked for")
        errors += [f"{page} shows the text of another" for other in OTHERS.findall(visit.shown) if other != str(number + 1000)]
        turn += 1
        time.sleep(max(pause - took, 0))
    visit.close()
    errors += visit.errors


def lesson(
    app: App, visits: int, pause: float, length: float, pages: Sequence[str] = PAGES
) -> tuple[dict[str, list[float]], list[str], list[float]]:
    """Seconds of every page, what went wrong, and the megabytes of the server, once a second."""
    seconds: dict[str, list[float]] = {page: [] for page in pages}
    errors: list[str] = []
    ends = time.monotonic() + length
    threads = [
        threading.Thread(target=student, args=(app, number, pause, ends, seconds, errors), daemon=True)
        for number in range(visits)
    ]
    for each in threads:
        each.start()
    memory = []
    while any(each.is_alive() for each in threads):
        memory.append(app.megabytes())
        time.sleep(1)
    return seconds, errors, memory


def main(visits: int = 30, pause: float = 10.0, length: float = 300.0) -> int:
    """Prints the table; 1 where a bar is missed."""
    with serving(PORT) as app:
        warm = Visit(app)
        for page in PAGES:
            warm.open(page)
        warm.close()
        seconds, errors, memory = lesson(app, visits, pause, length)
    print(f"{visits} visits, a press every {pause:.0f} s each, {length:.0f} s")
    print(f"{'page':<12}{'pictures':>10}{'median':>9}{'p95':>9}")
    for page, actual in seconds.items():
        print(f"{page:<12}{len(actual):>10}{statistics.median(actual):>8.2f}s{p95(actual):>8.2f}s")
    first = memory[min(60, len(memory) // 2)]
    print(f"memory after the first minute {first:,.0f} MB, at the end {memory[-1]:,.0f} MB, peak {max(memory):,.0f} MB")
    print(f"errors: {len(errors)}", *sorted(set(errors)), sep="\n  ")
    slow = max(map(p95, seconds.values())) > P95_SECONDS
    return int(bool(errors) or slow or memory[-1] > GROWTH * first or max(memory) > PEAK_MB)


def p95(actual: list[float]) -> float:
    """The time that one in twenty exceeds."""
    return sorted(actual)[max(0, int(0.95 * len(actual)) - 1)]


if __name__ == "__main__":
    sys.exit(main(*(int(sys.argv[1]), *map(float, sys.argv[2:])) if sys.argv[1:] else ()))
