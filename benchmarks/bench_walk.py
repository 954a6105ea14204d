"""What stands on the screen is what its address shows: 300 walks at random over all pages, each compared with a fresh load.

Needs Chromium. A walk has eight actions; the theme and the width with which it begins alternate, light and dark, 1440 and 390
pixels. A walk goes on where the one before has ended, five in a row, so that what a visit remembers has time to go wrong. A
difference is shrunk to the shortest walk that still ends with one, and printed. `--stays write` keeps all walks on one page.
"""

import random
import time
from argparse import Namespace
from collections.abc import Iterator
from itertools import product

from playwright.sync_api import Page, expect

from benchmarks.harness import Row, browsing, context_of, none, page_of, run, serving
from tests.browser.harness import Watch
from tests.browser.pages import expect_seen, go, open_page, seen, settle
from tests.browser.walking import WEIGHTS, Walker

# The first of these walks finds the grid that was not painted again after a run, in the versions that had it.
FIRST = 8
IN_A_ROW = 5
TEXTS = ("The cat sat on the mat.", "A dog barked at the moon.", "Rain fell on the old roof.", "She closed the red door.")
PAGES = ("Encode", "Translate", "Summarize")
SCREENS = tuple(product((1440, 390), ("light", "dark")))


def act(page: Page, draw: random.Random) -> dict[str, object]:
    """One deed that makes a visit: another text is run, another page opened, or something chosen. Returns what is seen then."""
    deed, before = draw.choice(("run", "page", "toggle")), page.url
    if deed == "run":
        box = page.locator("textarea").first
        box.fill(draw.choice([text for text in TEXTS if text != box.input_value()]))
        page.keyboard.press("Enter")
    elif deed == "page":
        shown = page.locator("h1").inner_text()
        go(page, draw.choice([name for name in PAGES if name != shown]))
    else:
        page.get_by_text("Merge subwords to words").click()
    page.wait_for_url(lambda url: url != before)
    settle(page)
    return seen(page)


def walk_back_and_forth(page: Page, app_url: str, *, visits: int, seed: int) -> None:
    """Records visits, and finds each of them again going back, and going forward."""
    draw = random.Random(seed)
    open_page(page, app_url)
    recorded = [seen(page)]
    while len(recorded) < visits:
        recorded.append(act(page, draw))
    for wanted in recorded[-2::-1]:
        page.go_back()
        expect_seen(page, wanted)
    for wanted in recorded[1:]:
        page.go_forward()
        expect_seen(page, wanted)


def type_without_running(page: Page, *, walks: int, seed: int) -> None:
    """On Encode types, does something else, and looks whether what was typed still stands there."""
    draw = random.Random(seed)
    for walk in range(walks):
        text = f"Not run {walk}: first line"
        box = page.locator("textarea").first
        box.fill(text)
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("second line")
        for deed in draw.sample(("tab", "toggle", "head", "away"), 2):
            if deed == "tab":
                page.get_by_role("tab", name=draw.choice(("Grid", "Matrix", "Text")), exact=True).click()
            elif deed == "toggle":
                page.get_by_text("Hide special tokens").click()
            elif deed == "head":
                page.get_by_test_id("stSidebar").get_by_label("Layer", exact=True).fill(str(draw.randrange(6)))
                page.keyboard.press("Enter")
            else:
                go(page, "Translate")
                go(page, "Encode")
            settle(page)
        expect(box).to_have_value(f"{text}\nsecond line")
        expect(page.get_by_text("Not run yet")).to_be_visible()


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
            if given.typed:
                open_page(page, app.url)
            type_without_running(page, walks=given.typed, seed=7)
            yield Row(f"{given.typed} walks that type without running", "no text lost")
        with context_of(browser, service_workers="block") as context:
            watch, walker = Watch(context), Walker(context, app.url, given.stays)
            yield from walks(walker, watch, given)
    yield Row("steps", ", ".join(f"{kind} {walker.taken[kind]}" for kind in WEIGHTS))


if __name__ == "__main__":
    sizes = {"visits": (20, 1), "typed": (100, 0), "walks": (300, 1), "first": (FIRST, FIRST), "actions": (8, 1)}
    run(rows, minutes=110, sizes=sizes | {"stays": ("", "")})
