"""Every lesson that travels with attnviz, walked from its first step to its end by keys alone, on three screens.

Needs Chromium. On a desk (1440 × 900) and a phone (390 × 844) the tab key has to reach what a question is answered with; on
the wall (1920 × 1080, Present) a clicker leads through it. Each state has to be the same after a reload, axe finds nothing
serious, a phone is as wide as its page and has the text above the picture, and the wall has no letters under 28 px and every
choice of a question in view.
"""

import statistics
import time
from argparse import Namespace
from collections.abc import Iterator

from playwright.sync_api import Page, ViewportSize, expect

from attnviz.lessons.lesson_file import read_lesson
from attnviz.lessons.library import shipped_lessons
from benchmarks.harness import Row, at_most, browsing, context_of, none, page_of, run, serving
from tests.browser.harness import Watch, until
from tests.browser.pages import BEAMER, DESK, LABELS, LEAST_LABEL, PHONE, serious, settle
from tests.browser.test_lessons import FOCUSED, OVERFLOW, open_step, snapshot, tab_to

SCREENS: dict[str, ViewportSize] = {"desk": DESK, "phone": PHONE, "wall": BEAMER}
# When a step or an answer is there, after a key was pressed.
CLOCK = """
  addEventListener("keydown", () => { window.pressed = performance.now(); window.before = shown(); window.came = null; }, true);
  const shown = () => [...document.querySelectorAll(".lesson-place, .lesson-answer")].map((each) => each.textContent).join();
  addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
    if (window.came === null && shown() !== window.before) window.came = performance.now();
  }).observe(document.body, { childList: true, subtree: true, characterData: true }));
"""
# Seconds from the beginning of a visit until all lessons stand there, looked for in every frame.
LISTED = """new Promise((listed) => {
  const look = (now) => document.querySelectorAll(".st-key-cards-lessons button").length < %d
    ? requestAnimationFrame(look) : listed(now / 1000);
  requestAnimationFrame(look);
})"""
CUT_OFF = """() => [...document.querySelectorAll(".guess, .st-key-lesson-next button")].filter((each) => {
  const { top, bottom } = each.getBoundingClientRect();
  return each.checkVisibility() && (top < 0 || bottom > innerHeight + 1);
}).length"""
SKIP = ".st-key-lesson-skip button"
BELOW = """() => document.querySelector(".st-key-lesson").getBoundingClientRect().y >
  document.querySelector(".st-key-hero").getBoundingClientRect().y"""


def faults(page: Page, screen: str) -> Iterator[str]:
    """What is wrong with what stands there."""
    settle(page)
    place = page.locator(".lesson-place").inner_text()
    yield from (f"{place}: {rule} {element}" for rule, element, _ in serious(page))
    if screen == "phone" and page.evaluate(OVERFLOW) > 0:
        yield f"{place} is wider than the phone"
    if screen == "phone" and page.evaluate(BELOW):
        yield f"{place} has its text below the picture"
    if screen == "wall":
        yield from (f"{place}: {size} px {text[:30]}" for size, text in page.evaluate(LABELS) if size < LEAST_LABEL - 0.1)
        if page.evaluate(CUT_OFF):
            yield f"{place}: a question is cut off"
    stood = snapshot(page)
    page.reload()
    settle(page)
    if not until(page, lambda: snapshot(page) == stood):
        yield f"{place} is another after a reload"


def press(page: Page, key: str, shows: str, count: int) -> float:
    """Seconds from a key to the text, or the answers, that it brings."""
    page.keyboard.press(key)
    expect(page.locator(shows)).to_have_count(count)
    settle(page)
    return page.evaluate("(window.came - window.pressed) / 1000")


def walk(page: Page, url: str, name: str, screen: str, times: list[float], most: int) -> Iterator[str]:
    """Goes through a lesson, so many steps at most; gives what is wrong, and notes how long each step took to come."""
    lesson = read_lesson(shipped_lessons()[name])
    open_step(page, url, name, 1)
    if screen == "wall":
        page.keyboard.press("f")
        page.wait_for_url("**present=true*")
    for number, step in enumerate(lesson.steps[:most], 1):
        yield from faults(page, screen)
        for answered in range(1, len(step.questions) + 1):
            # Of two questions the second one's button stands where the first one's had the focus.
            if screen != "wall" and not page.evaluate(FOCUSED, SKIP):
                tab_to(page, SKIP)
            press(page, "PageDown" if screen == "wall" else "Enter", ".lesson-answer", answered)
        yield from faults(page, screen)
        where = f"Step {number + 1} of" if number < len(lesson.steps) else "The end"
        times.append(press(page, "PageDown", f".lesson-place:has-text('{where}')", 1))
    if most >= len(lesson.steps):
        yield from faults(page, "desk")


def rows(given: Namespace) -> Iterator[Row]:
    """The page of all lessons, then every lesson on every screen."""
    times: list[float] = []
    with serving(given.server) as app, browsing() as browser:
        for name in given.lessons:
            for screen in given.screens:
                began = time.perf_counter()
                with context_of(browser, viewport=SCREENS[screen], service_workers="block") as context:
                    watch = Watch(context)
                    context.add_init_script(CLOCK)
                    page = context.new_page()
                    page.set_viewport_size(SCREENS[screen])
                    wrong = [*walk(page, app.url, name, screen, times, given.steps), *watch.problems]
                yield none(f"{name}, {screen}, {time.perf_counter() - began:.0f} s: what is wrong", wrong)
        with page_of(browser) as page:
            page.add_init_script(f"window.listed = {LISTED % len(shipped_lessons())}")
            opened = []
            for _ in range(1 + given.opens):
                page.goto(f"{app.url}/lessons", wait_until="commit")
                opened.append(page.evaluate("window.listed"))
            yield at_most("the page of all lessons, opened again", statistics.median(opened[1:] or opened), 1.0)
    yield at_most("from page down to the next step, slowest twentieth", sorted(times)[int(0.95 * len(times))], 0.5)


if __name__ == "__main__":
    sizes = {"lessons": ([*shipped_lessons()], ["questionnaire"]), "screens": ([*SCREENS], ["wall"]), "steps": (99, 1)}
    run(rows, minutes=40, sizes={**sizes, "opens": (3, 0)})
