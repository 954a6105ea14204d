"""A lesson in the browser: by keyboard alone, the same after reload, back and forward, and no answer before its question."""

import json
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, WebSocket, expect

from attnviz.lessons.hand_in import read_hand_in
from tests.browser.harness import WINDOW, until
from tests.browser.pages import (
    BEAMER,
    LABELS,
    LEAST_LABEL,
    PHONE,
    TABLET,
    head_weights,
    parameters,
    seen,
    serious,
    settle,
)

FOCUSED = """(selector) => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at?.matches(selector) ?? false;
}"""
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


def open_step(page: Page, app_url: str, name: str, step: int) -> None:
    """By the short link of a teacher."""
    page.goto(f"{app_url}/lessons?lesson={name}&step={step}")
    page.wait_for_url(lambda url: f"step={step}" in url)
    expect(page.locator(".lesson-place")).to_contain_text(f"Step {step} of")
    settle(page)


def tab_to(page: Page, selector: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED, selector):
            return
    raise AssertionError(f"the tab key does not reach {selector}")


def answer(page: Page, *keys: str) -> None:
    """From the first thing that can be chosen, by these keys, to the button Answer."""
    tab_to(page, ".guess :is(.option, input, textarea)")
    for key in keys:
        page.keyboard.type(key) if len(key) == 1 else page.keyboard.press(key)
    tab_to(page, ".guess .give:enabled")
    page.keyboard.press("Enter")


def snapshot(page: Page) -> dict[str, object]:
    return {
        **seen(page),
        "panel": page.locator(".st-key-lesson").inner_text(),
        "asked": page.locator(".guess").all_inner_texts(),
    }


def steady(page: Page) -> dict[str, object]:
    """What stands there when two looks in a row see the same: what is at rest may still be unpacking a picture."""
    looks = [snapshot(page)]
    until(page, lambda: looks.append(snapshot(page)) or looks[-1] == looks[-2])
    return looks[-1]


def test_a_lesson_is_walked_by_keyboard_and_is_the_same_after_reload_back_and_forward(
    page: Page, app_url: str, tmp_path: Path
) -> None:
    received = received_while(page, lambda: open_step(page, app_url, "what-is-it", 1))
    holds_no_answer(page, received)
    breaks_no_rule_and_fits_a_phone(page)
    views = [steady(page)]
    tab_to(page, ".stSidebar a")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    answer(page, *["ArrowRight"], "Enter")
    expect(page.locator(".lesson-answer")).to_contain_text("You said “animal”")
    settle(page)
    # What had the focus is gone: it is where the next question is near.
    assert page.evaluate(FOCUSED, ".lesson-text h2")
    views.append(steady(page))
    answer(page, "ArrowRight")
    expect(page.locator(".lesson-answer.right")).to_contain_text("“it” gives “animal” 68 %")
    expect(page.locator(".lesson-answer.wrong")).to_contain_text("You said “51 %”")
    expect(page.locator(".story").first).to_contain_text("animal")
    settle(page)
    views.append(steady(page))
    page.keyboard.press("PageDown")
    expect(page.locator(".lesson-place")).to_contain_text("Step 2 of")
    settle(page)
    says_that_a_row_is_hidden(page)
    views.append(steady(page))
    for back in (2, 1, 0):
        page.go_back()
        shows(page, views[back])
    for forward in (1, 2):
        page.go_forward()
        shows(page, views[forward])
    page.reload()
    shows(page, views[2])
    # Back at the address of no answer a reload begins a new visit; the tab has kept what was answered.
    for _ in range(2):
        page.go_back()
    shows(page, views[0])
    page.reload()
    shows(page, views[0])
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".lesson-place")).to_contain_text("Step 2 of")
    assert [row[:2] for row in json.loads(parameters(page)["answers"])] == [["1.1", "animal"], ["1.2", "51 %"]]
    page.go_back()
    shows(page, views[0])
    page.go_forward()
    expect(page.locator(".lesson-place")).to_contain_text("Step 2 of")
    page.goto(page.url.replace("/encode", "/lessons").replace("step=2", "step=99"))
    expect(page.locator(".lesson-points")).to_contain_text("1 of")
    with page.expect_download() as started:
        page.get_by_role("button", name="Hand in").click()
    started.value.save_as(tmp_path / "a.json")
    hand_in = read_hand_in((tmp_path / "a.json").read_bytes(), "a.json")
    assert (hand_in.lesson, hand_in.answers) == ("what-is-it", {"1.1": "animal", "1.2": "51 %"})
    settle(page)
    breaks_no_rule_and_fits_a_phone(page)


def says_that_a_row_is_hidden(page: Page) -> None:
    """Neither masked nor without weight: what answers the question is not told yet."""
    expect(page.locator(".masked-key")).to_have_text("hidden")
    matrix = page.locator(".explorer .matrix canvas").last
    matrix.scroll_into_view_if_needed()
    box = matrix.bounding_box()
    assert box
    notes = set()
    for y in range(0, int(box["height"]), 12):
        page.mouse.move(box["x"] + 2 * box["width"] / 3, box["y"] + y)
        notes.add(page.locator(".explorer .note").inner_text())
    page.mouse.move(0, 0)
    assert any(note.endswith("hidden until you have answered") for note in notes)
    assert not any("masked" in note for note in notes)


def received_while(page: Page, act: Callable[[], None]) -> bytes:
    """All that the server sends meanwhile."""
    frames: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.append(frame if isinstance(frame, bytes) else frame.encode()))

    page.on("websocket", listen)
    act()
    page.remove_listener("websocket", listen)
    return b"\n".join(frames)


def holds_no_answer(page: Page, received: bytes) -> None:
    assert len(received) > 1000
    for text in ("68\N{NO-BREAK SPACE}%", "“it” gives"):
        assert text.encode() not in received
        assert json.dumps(text)[1:-1].encode() not in received
    # Of the picture nothing is missing but the row of “it”.
    assert [at for at, row in enumerate(head_weights(page)) if all(weight is None for weight in row)] == [10]


def breaks_no_rule_and_fits_a_phone(page: Page) -> None:
    assert serious(page) == []
    # Beside the menu and a step a tablet has no room for a picture.
    for size in (TABLET, PHONE):
        page.set_viewport_size(size)
        settle(page)
        assert page.evaluate(OVERFLOW) <= 0
        step, picture = (page.locator(each).bounding_box() for each in (".st-key-lesson", ".st-key-hero"))
        assert step
        assert picture
        assert step["y"] + step["height"] <= picture["y"] + 1
    page.set_viewport_size(WINDOW)
    settle(page)


def shows(page: Page, view: dict[str, object]) -> None:
    page.wait_for_url(str(view["address"]))
    settle(page)
    if not until(page, lambda: snapshot(page) == view):
        assert snapshot(page) == view


def test_a_clicker_leads_through_a_lesson_that_the_back_row_can_read(page: Page, app_url: str) -> None:
    page.set_viewport_size(BEAMER)
    page.goto(f"{app_url}/lessons?lesson=what-is-it&step=1")
    page.wait_for_url("**/encode?**")
    settle(page)
    page.keyboard.press("f")
    page.wait_for_url("**present=true*")
    for _ in range(3):
        settle(page)
        small = [(round(size, 1), text[:40]) for size, text in page.evaluate(LABELS) if size < LEAST_LABEL - 0.1]
        assert not small
        page.keyboard.press("PageDown")
    expect(page.locator(".lesson-place")).to_contain_text("Step 2 of")
    assert parameters(page)["present"] == "true"
    # A longer question, beside a table: all of it is seen, and the way on.
    page.goto(f"{app_url}/compute?at=0,0,0&lesson=compute-one&step=1&present=true")
    expect(page.locator(".guess .option")).to_have_count(3)
    settle(page)
    for place in (".guess .option >> nth=2", ".st-key-lesson-next button", ".sum"):
        box = page.locator(place).bounding_box()
        assert box
        assert box["y"] + box["height"] <= BEAMER["height"]
    # Arrows lead through the steps of the computation meanwhile.
    page.keyboard.press("ArrowRight")
    expect(page.locator(".compute[data-step='1']")).to_be_visible()
