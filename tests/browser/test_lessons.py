"""A lesson in the browser: by keyboard alone, the same after reload, back and forward, and no answer before its question."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, WebSocket, expect

from attnviz.lessons.hand_in import read_hand_in
from tests.browser.harness import until
from tests.browser.pages import BEAMER, LABELS, LEAST_LABEL, PHONE, head_weights, parameters, seen, serious, settle

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
    open_step(page, app_url, "what-is-it", 1)
    views = [steady(page)]
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
    views.append(steady(page))
    for back in (2, 1, 0):
        page.go_back()
        assert until(page, lambda wanted=views[back]: snapshot(page) == wanted), back
    for forward in (1, 2):
        page.go_forward()
        assert until(page, lambda wanted=views[forward]: snapshot(page) == wanted), forward
    page.reload()
    assert until(page, lambda: snapshot(page) == views[2])
    page.goto(page.url.replace("/encode", "/lessons").replace("step=1", "step=99"))
    expect(page.locator(".lesson-points")).to_contain_text("1 of")
    with page.expect_download() as started:
        page.get_by_role("button", name="Hand in").click()
    started.value.save_as(tmp_path / "a.json")
    hand_in = read_hand_in((tmp_path / "a.json").read_bytes(), "a.json")
    assert (hand_in.lesson, hand_in.answers) == ("what-is-it", {"1.1": "animal", "1.2": "51 %"})


def test_no_message_of_a_step_holds_its_answer(page: Page, app_url: str) -> None:
    frames: list[bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: frames.append(frame if isinstance(frame, bytes) else frame.encode()))

    page.on("websocket", listen)
    open_step(page, app_url, "what-is-it", 1)
    page.locator(".guess .give").wait_for()
    settle(page)
    page.remove_listener("websocket", listen)
    received = b"\n".join(frames)
    assert len(received) > 1000
    for text in ("68\N{NO-BREAK SPACE}%", "“it” gives"):
        assert text.encode() not in received
        assert json.dumps(text)[1:-1].encode() not in received
    # Of the picture nothing is missing but the row of “it”.
    assert [at for at, row in enumerate(head_weights(page)) if all(weight is None for weight in row)] == [10]


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


@pytest.mark.parametrize("step", [1, 6])
def test_a_step_breaks_no_rule_and_fits_a_phone(page: Page, app_url: str, step: int) -> None:
    page.goto(f"{app_url}/lessons?lesson=what-is-it&step={step}")
    expect(page.locator(".lesson-place")).to_be_visible()
    settle(page)
    assert serious(page) == []
    page.set_viewport_size(PHONE)
    settle(page)
    assert page.evaluate(OVERFLOW) <= 0
    step_text, picture = (page.locator(each).bounding_box() for each in (".st-key-lesson", ".st-key-hero"))
    assert step_text
    assert picture
    assert step_text["y"] < picture["y"]
