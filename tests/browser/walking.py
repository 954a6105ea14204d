"""Walks at random over the app's pages, and compares what stands on the screen with a fresh load of its address.

A walk is a start and steps; a step names what it acts on, so that a walk can be taken again, and without some of its steps.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote_plus, urlsplit

from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import Error as BrowserError

from tests.browser.pages import settle

SCRIPT = Path(__file__).with_name("walk.js").read_text(encoding="utf-8")
# The slow ways of Matters take a pass of the model for every word.
PATIENCE = 240_000
COMPARISONS = 8
MATTERS = "matters?text=Ada+wrote+it+in+1843.&pair=Who+wrote+it%3F"
PAGES = (
    "",
    "encode",
    "translate",
    "answer",
    "summarize",
    "write",
    "heads",
    "whatif",
    MATTERS,
    "whatif?change=head",
    "compute",
    "train",
)
# Home and Train have few pictures that depend on anything.
PAGE_WEIGHTS = (1, 12, 3, 2, 2, 3, 2, 3, 3, 3, 4, 1)
WIDTHS = (1440, 390, 1024)
HEIGHT = 1000
TEXTS = (
    "A kitten naps on the couch near the old wooden door.",
    "No.",
    "The bank of the river; the bank, the money & <b>the rest</b>.",
    "My sister gave her dog a bath; unbelievably, it enjoyed splashing around in the water of the tub until late at night.",
    "مرحبا 😀 cats",
)
# What a box of edits may be told: a head off, a link cut, a word hidden, nothing, and what no one can read.
EDITS = ("e3.1z", "e0.0z,e3.1c2.1", "ek1", "", "cut it")
# Of what can be done on a page, how often each kind of step is taken.
WEIGHTS = {
    "type": 12, "example": 6, "heads": 3, "cells": 3, "arcs": 2, "token": 6, "pick": 3, "tab": 3, "chip": 2,
    "gives": 1, "zoom": 1, "sort": 2, "links": 2, "way": 3, "number": 3, "guess": 3, "segment": 3, "toggle": 6, "step": 3,
    "slider": 2, "select": 3, "models": 1, "button": 1, "fold": 1, "target": 1, "page": 2, "link": 1,
    "first": 2, "several": 1, "edit": 4, "back": 1, "forward": 1, "theme": 1, "window": 1,
}  # fmt: skip
ANYWHERE = ("back", "forward", "theme", "window")
# Where a walk stays on one page, it does more of what is done on that page, and follows no link to another.
STAYING = WEIGHTS | {"page": 0, "link": 0, "button": 8, "pick": 8}


@dataclass(frozen=True)
class Step:
    """One action: a `kind` of WEIGHTS on what is called `name` (the `index`th of that name); `x` and `y`: where on it, 0 to 1.

    `hasty`: the next step does not wait until this one has had its effect.
    """

    kind: str
    name: str = ""
    index: int = 0
    x: float = 0.5
    y: float = 0.5
    hasty: bool = False

    def __str__(self) -> str:
        at = f" at {self.x:.2f}, {self.y:.2f}" if self.kind not in ANYWHERE else f" {self.x:.2f}"
        return f"{self.kind} {self.name!r} {self.index or ''}{at}{', hastily' if self.hasty else ''}"


@dataclass(frozen=True)
class Walk:
    """Where a walk begins (path and query), in which theme and at which width, and its steps."""

    start: str
    theme: str
    width: int
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        lines = [f"from /{self.start}, {self.theme}, {self.width} wide:", *(f"  {step}" for step in self.steps)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Difference:
    """What a walk shows otherwise than the address that it ends at does."""

    walk: Walk
    address: str
    message: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([str(self.walk), f"ends at {unquote_plus(self.address)}", *(f"  {line}" for line in self.message)])


class Walker:
    """Two tabs of one browser: one walks, the other opens the address where the walk has ended.

    `stays`: path and query of the page where every walk begins, and which it does not leave by a link.
    """

    def __init__(self, context: BrowserContext, address: str, stays: str = "") -> None:
        self.address, self.stays = address, stays
        self.page, self.other = context.new_page(), context.new_page()
        for page in (self.page, self.other):
            page.add_init_script(SCRIPT)
        # How often a step of each kind was taken.
        self.taken = Counter[str]()

    def close(self) -> None:
        self.page.close()
        self.other.close()

    def stroll(
        self, seed: int, length: int, *, theme: str = "light", width: int = WIDTHS[0], before: Walk | None = None
    ) -> tuple[Walk, Difference | None]:
        """Takes a walk that the seed decides; it, and the difference that it ends with, if there is one.

        `before`: the walk that has just ended, and goes on.
        """
        chance = random.Random(seed)
        (start,) = chance.choices(PAGES, PAGE_WEIGHTS)
        walk = before or Walk(self.stays or start, theme, width)
        if not before:
            self._begin(walk)
        for _ in range(length):
            step = self._choose(chance)
            walk = replace(walk, steps=(*walk.steps, step))
            self._take(step)
        return walk, self._compare(walk)

    def follow(self, walk: Walk) -> Difference | None:
        """Takes a walk again."""
        self._begin(walk)
        for step in walk.steps:
            self._take(step)
        return self._compare(walk)

    def shrink(self, actual: Difference) -> Difference:
        """The shortest walk that still ends with a difference: without each step that it does not need."""
        size = (len(actual.walk.steps) + 1) // 2
        while size:
            shorter = next(self._without(actual.walk, size), None)
            if shorter:
                actual, size = shorter, min(size, max(1, len(shorter.walk.steps) // 2))
            else:
                size //= 2
        return actual

    def _without(self, walk: Walk, size: int) -> Iterator[Difference]:
        for first in range(0, len(walk.steps), size):
            steps = walk.steps[:first] + walk.steps[first + size :]
            if actual := self.follow(replace(walk, steps=steps)):
                yield actual

    def _begin(self, walk: Walk) -> None:
        for page in (self.page, self.other):
            page.emulate_media(color_scheme=walk.theme)
            page.set_viewport_size({"width": walk.width, "height": HEIGHT})
        self.theme, self.width = walk.theme, walk.width
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}/{walk.start}")
        settle(self.page, PATIENCE)

    def _choose(self, chance: random.Random) -> Step:
        there = [*self.page.evaluate("walk.actions()"), *([kind, ""] for kind in ANYWHERE)]
        kinds, weights = sorted({kind for kind, _ in there}), STAYING if self.stays else WEIGHTS
        (kind,) = chance.choices(kinds, [weights[kind] for kind in kinds])
        names = [name for other, name in there if other == kind]
        at = chance.randrange(len(names))
        index = names[:at].count(names[at])
        return Step(kind, names[at], index, chance.random(), chance.random(), hasty=chance.random() < 0.25)

    def _take(self, step: Step) -> None:
        if step.kind in ANYWHERE:
            self._turn(step)
        else:
            there = self.page.evaluate("walk.actions()")
            places = [at for at, (kind, name) in enumerate(there) if (kind, name) == (step.kind, step.name)]
            # In a walk that was made shorter something may not be there.
            if step.index >= len(places) or not (box := self.page.evaluate("at => walk.reach(at)", places[step.index])):
                return
            _DO.get(step.kind, _click)(self.page, step, box, places[step.index])
        self.taken[step.kind] += 1
        if not step.hasty:
            settle(self.page, PATIENCE)

    def _turn(self, step: Step) -> None:
        page = self.page
        if step.kind in ("back", "forward"):
            # Not out of the app: the walk began on an empty page.
            if step.kind == "forward" or page.evaluate("navigation.currentEntry.index > 1"):
                page.evaluate(f"history.{step.kind}()")
        elif step.kind == "theme":
            self.theme = "dark" if self.theme == "light" else "light"
            page.emulate_media(color_scheme=self.theme)
        else:
            self.width = WIDTHS[int(step.x * len(WIDTHS))]
            page.set_viewport_size({"width": self.width, "height": HEIGHT})

    def _compare(self, walk: Walk) -> Difference | None:
        page, other = self.page, self.other
        page.mouse.move(0, 0)
        page.evaluate("walk.leave()")
        settle(page, PATIENCE)
        address = page.url
        other.emulate_media(color_scheme=self.theme)
        other.set_viewport_size({"width": self.width, "height": HEIGHT})
        other.goto("about:blank")
        other.goto(address)
        settle(other, PATIENCE)
        for _ in range(COMPARISONS):
            # What a hasty step has asked for may have come, and scrolled, since.
            for each in (page, other):
                each.evaluate("walk.leave()")
            if page.evaluate("walk.seen()") == other.evaluate("walk.seen()") and page.url == address:
                return None
            # What is at rest may still be unpacking a picture.
            other.wait_for_timeout(300)
        mine, fresh = page.evaluate("walk.seen(true)"), other.evaluate("walk.seen(true)")
        message = _differences(mine, fresh)
        if page.url != other.url:
            message = (f"the address became {unquote_plus(page.url)}, afresh {unquote_plus(other.url)}", *message)
        return Difference(walk, urlsplit(address)._replace(scheme="", netloc="").geturl(), message)


def _click(page: Page, step: Step, box: dict[str, float], _at: int) -> None:
    page.mouse.click(box["x"] + step.x * box["width"], box["y"] + step.y * box["height"])


def _middle(page: Page, _step: Step, box: dict[str, float], _at: int) -> None:
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def _set(page: Page, step: Step, _box: dict[str, float], at: int) -> None:
    page.evaluate("([at, share]) => walk.set(at, share)", [at, step.x])


def _slide(page: Page, step: Step, _box: dict[str, float], at: int) -> None:
    page.evaluate("at => walk.focus(at)", at)
    for _ in range(1 + int(3 * step.y)):
        page.keyboard.press("ArrowRight" if step.x > 0.4 else "ArrowLeft")


def _type(page: Page, step: Step, box: dict[str, float], at: int) -> None:
    _middle(page, step, box, at)
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(TEXTS[int(step.x * len(TEXTS))])
    # Now and then what was typed is not run.
    if step.y < 0.75:
        try:
            page.locator("[class*=st-key-prompt]").get_by_role("button", name="Run", exact=True).click(timeout=3000)
        except BrowserError:
            # The page went on to what a hasty step before had asked for.
            return


def _enter(page: Page, step: Step, box: dict[str, float], at: int) -> None:
    _middle(page, step, box, at)
    page.keyboard.press("ControlOrMeta+a")
    texts = EDITS if step.name.startswith("Edits") else TEXTS
    page.keyboard.insert_text(texts[int(step.x * len(texts))][:20])
    page.keyboard.press("Enter")


def _select(page: Page, step: Step, box: dict[str, float], at: int) -> None:
    _middle(page, step, box, at)
    # Models of the hub are named with their kind, and are not on this machine.
    options = page.get_by_role("option").filter(has_not_text=" · ").filter(has_not_text="/").filter(has_not_text="-uncased")
    try:
        options.first.wait_for(timeout=1500)
        options.nth(int(step.x * options.count())).click(timeout=1500)
    except BrowserError:
        page.keyboard.press("Escape")


def _models(page: Page, step: Step, box: dict[str, float], at: int) -> None:
    if step.y < 0.5:
        page.mouse.click(box["x"] + 30, box["y"] + box["height"] - 15)
        page.keyboard.press("Backspace")
        page.keyboard.press("Escape")
    else:
        _select(page, step, box, at)
        page.keyboard.press("Escape")


_DO: dict[str, Callable[[Page, Step, dict[str, float], int], None]] = {
    **dict.fromkeys(("heads", "cells", "arcs"), _click), "sort": _set, "links": _set, "slider": _slide,
    "type": _type, "target": _enter, "select": _select, "models": _models,
    **dict.fromkeys(("token", "pick", "tab", "chip", "gives", "zoom", "way", "number", "guess", "example", "segment", "toggle",
                     "step", "button", "fold", "first", "several", "page", "link", "edit"), _middle),
}  # fmt: skip


def _differences(mine: Sequence[Sequence[str]], fresh: Sequence[Sequence[str]]) -> tuple[str, ...]:
    names, others = [what for what, _ in mine], [what for what, _ in fresh]
    if names != others:
        return (f"walked there is {names}, afresh {others}",)
    return tuple(f"{what}: {_first(one, other)}" for (what, one), (_, other) in zip(mine, fresh, strict=True) if one != other)


def _first(one: str, other: str) -> str:
    """Where two texts part."""
    if one.startswith("data:"):
        return "other pixels"
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"…{one[max(0, at - 60) : at + 60]!r}, afresh …{other[max(0, at - 60) : at + 60]!r}"
