"""What stands on the screen is what its address shows: 300 walks at random over all pages, each compared with a fresh load.

Needs Chromium. A walk has eight actions; the theme and the width with which it begins alternate, light and dark, 1440 and 390
pixels. A walk goes on where the one before has ended, five in a row, so that what a visit remembers has time to go wrong. A
difference is shrunk to the shortest walk that still ends with one, and printed.
"""

import time
from argparse import Namespace
from collections.abc import Iterator
from itertools import product

from benchmarks.harness import Row, browsing, none, page_of, run, serving
from tests.browser.harness import Watch
from tests.browser.test_history import type_without_running, walk_back_and_forth
from tests.browser.walking import WEIGHTS, Walker

# The first of these walks finds the grid that was not painted again after a run, in the versions that had it.
FIRST = 8
IN_A_ROW = 5
SCREENS = tuple(product((1440, 390), ("light", "dark")))


def walks(walker: Walker, watch: Watch, given: Namespace) -> Iterator[Row]:
    """Takes the walks, a row each: what is otherwise than in a fresh load, and what went wrong in the browser."""
    before = None
    for count in range(given.walks):
        width, theme = SCREENS[count // IN_A_ROW % len(SCREENS)]
        began = time.perf_counter()
        walk, actual = walker.stroll(given.first + count, given.actions, theme=theme, width=width, before=before)
        problems = [*watch.problems, *([f"{actual}, or shorter {walker.shrink(actual)}"] if actual else [])]
        if problems and not actual:
            problems.append(str(walk))
        watch.problems.clear()
        yield none(f"walk {given.first + count}, {time.perf_counter() - began:.1f} s: differences and errors", problems)
        before = None if problems or count % IN_A_ROW == IN_A_ROW - 1 else walk


def rows(given: Namespace) -> Iterator[Row]:
    """What back, forward and typing leave, then the walks, and how often each kind of step was taken."""
    with serving(given.server) as app, browsing() as browser:
        # Either stops at the first text that is lost, or visit that does not come back.
        with page_of(browser) as page:
            walk_back_and_forth(page, app.url, visits=given.visits, seed=7)
            yield Row(f"{given.visits} visits, back and forward", "each restored")
        with page_of(browser) as page:
            type_without_running(page, app.url, walks=given.typed, seed=7)
            yield Row(f"{given.typed} walks that type without running", "no text lost")
        context = browser.new_context(service_workers="block")
        watch = Watch(context)
        walker = Walker(context, app.url)
        yield from walks(walker, watch, given)
        context.close()
    yield Row("steps", ", ".join(f"{kind} {walker.taken[kind]}" for kind in WEIGHTS))


if __name__ == "__main__":
    sizes = {"visits": (20, 1), "typed": (100, 0), "walks": (300, 1), "first": (FIRST, FIRST), "actions": (8, 1)}
    run(rows, minutes=110, sizes=sizes)
