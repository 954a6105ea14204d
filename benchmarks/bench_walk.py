"""What stands on the screen is what its address shows: 300 walks at random over all pages, each compared with a fresh load.

Needs Chromium. A walk has eight actions; the theme and the width with which it begins alternate, light and dark, 1440 and 390
pixels. A walk goes on where the one before has ended, five in a row, so that what a visit remembers has time to go wrong. A
difference is shrunk to the shortest walk that still ends with one, and printed.

    python benchmarks/bench_walk.py [WALKS] [FIRST SEED]
"""

import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.browser.conftest import ARGUMENTS
from tests.browser.harness import ROOT, Watch, serving
from tests.browser.walking import WEIGHTS, Walker

# The first of these walks finds the grid that was not painted again after a run, in the versions that had it.
FIRST = 8
WALKS, ACTIONS, IN_A_ROW = 300, 8, 5
METHODS = tuple(product((1440, 390), ("light", "dark")))


def walks(walker: Walker, watch: Watch, seeds: range) -> int:
    """Takes the walks; the number of those that ended with a difference, or with an error in the browser."""
    wrong, before = 0, None
    for count, seed in enumerate(seeds):
        width, theme = METHODS[count // IN_A_ROW % len(METHODS)]
        began = time.perf_counter()
        before, actual = walker.stroll(seed, ACTIONS, theme=theme, width=width, before=before)
        print(f"walk {seed}: {'a difference' if actual else 'the same'}, {time.perf_counter() - began:.1f} s", flush=True)
        if actual or watch.problems:
            wrong += 1
            print(actual or before, *watch.problems, sep="\n", flush=True)
            watch.problems.clear()
            if actual:
                print("The shortest walk that ends so:", walker.shrink(actual), sep="\n", flush=True)
            before = None
        elif count % IN_A_ROW == IN_A_ROW - 1:
            before = None
    return wrong


def main() -> int:
    count, first = (int(each) for each in (*sys.argv[1:], *(WALKS, FIRST)[len(sys.argv) - 1 :]))
    with (
        tempfile.TemporaryDirectory() as folder,
        serving([sys.executable, "-m", "attnviz.cli"], folder=ROOT, log=Path(folder, "log.txt")) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        context = browser.new_context(service_workers="block")
        watch = Watch(context)
        walker = Walker(context, address)
        wrong = walks(walker, watch, range(first, first + count))
        browser.close()
    print(f"{count} walks of {ACTIONS} actions, {wrong} that end with a difference")
    print("steps:", ", ".join(f"{kind} {walker.taken[kind]}" for kind in WEIGHTS))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
