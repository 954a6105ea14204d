"""The Compute page as a teacher uses it: by keyboard, cell by cell, with a class that guesses first."""

import re

import numpy as np
from playwright.sync_api import Page, WebSocket, expect

from attnviz.analysis.compute import Computation, worked_steps
from attnviz.core.head_inputs import Tables
from attnviz.figures.compute.steps import SCRIPT, STYLE, computation
from attnviz.models.worked_examples import compute
from tests.browser.pages import HOSTILE, choose, press, refuse_hostile, settle

STEPS = ["X", "Q", "K", "V", "QKᵀ", "÷√d", "softmax", "·V", "WO"]


def open_compute(page: Page, app_url: str, query: str = "") -> None:
    page.goto(f"{app_url}/compute?{query}")
    settle(page)


def now(page: Page) -> str:
    return page.locator('.way [aria-current="step"]').inner_text().splitlines()[0]


def lit(page: Page) -> list[str]:
    return page.locator(".equation td.from").evaluate_all("cells => cells.map(cell => cell.dataset.id)")


def test_keys_walk_through_the_steps_and_light_up_where_a_cell_came_from(page: Page, app_url: str) -> None:
    open_compute(page, app_url, "at=0,0,0")
    expect(page.locator(".way button:not(.move)")).to_contain_text(STEPS)
    for symbol in STEPS[1:5]:
        page.keyboard.press("ArrowRight")
        expect(page.locator('.way [aria-current="step"]')).to_contain_text(symbol)
    # The scores of "it": the row of Q and the column of Kᵀ, and their sum written out.
    assert lit(page) == ["Q:2:0", "Q:2:1", "Q:2:2", "K:0:0", "K:0:1", "K:0:2"]
    expect(page.locator(".sum")).to_contain_text("3.00·1.00 + 0.00·0.00 + 0.00·0.00 = 3.00 + 0.00 + 0.00 = 3.00")
    press(page, "ArrowUp", "Shift+ArrowRight")
    assert lit(page) == ["Q:1:0", "Q:1:1", "Q:1:2", "K:1:0", "K:1:1", "K:1:2"]
    page.keyboard.press("ArrowRight")
    expect(page.locator(".sum")).to_contain_text("1.00 / √3 = 1.00 / 1.73 = 0.58")
    page.keyboard.press("ArrowLeft")
    assert now(page) == "QKᵀ"
    page.wait_for_url("**at=4%2C1%2C1*")
    page.get_by_role("button", name="Back").focus()
    page.keyboard.press("Enter")
    assert now(page) == "V"
    page.get_by_role("textbox", name="Tokens").fill(HOSTILE[:56] + " مرحبا 😀")
    page.get_by_role("textbox", name="Tokens").press("Enter")
    expect(page.locator("th.row").first).to_have_text("<script>window.hacked=1</script>")
    refuse_hostile(page, ".compute")


MOUNT = """async ([script, ...times]) => {
  window.mount ??= (await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })))).default;
  for (const data of times) mount({ data: [data], parentElement: document.body, setTriggerValue: () => null });
}"""


def steps_of(size: int) -> Computation:
    """A worked example of so many tokens that are all alike."""
    one, x = np.eye(2), np.ones((size, 2))
    tables = Tables(tuple("abcdefgh"[:size]), x, one, one, one, one, np.ones((size, size), dtype=bool), 1, True)
    return worked_steps(tables, compute(tables), 0)


def test_a_key_moves_one_step_though_the_page_was_drawn_again_at_that_moment(page: Page) -> None:
    page.set_content('<div class="compute"></div>')
    page.evaluate(MOUNT, [SCRIPT, *[computation(steps_of(2))] * 2])
    for symbol in STEPS[1:3]:
        page.keyboard.press("ArrowRight")
        assert now(page).startswith(symbol)


def test_a_guess_is_typed_on_and_a_matrix_stays_where_it_was_scrolled_to(page: Page) -> None:
    page.set_viewport_size({"width": 300, "height": 700})
    page.set_content(f'<style>{STYLE}</style><div class="compute"></div>')
    asked = computation(steps_of(8), at=(6, 0, 0), predict="weight")
    page.evaluate(MOUNT, [SCRIPT, asked])
    matrix = page.locator(".matrix").last
    matrix.evaluate("matrix => (matrix.scrollLeft = 40)")
    page.locator("td.hidden").nth(5).dispatch_event("click")
    assert matrix.evaluate("matrix => matrix.scrollLeft") == 40
    page.get_by_label("Your guess").press_sequentially("0.")
    # What Python answers to the click has only another place and number.
    page.evaluate(MOUNT, [SCRIPT, {**asked, "at": [6, 0, 5], "seq": 1}])
    page.keyboard.type("25")
    expect(page.get_by_label("Your guess")).to_have_value("0.25")
    page.evaluate(MOUNT, [SCRIPT, {**asked, "at": [6, 0, 3], "seq": 2, "theme": "dark"}])
    expect(page.locator(".question")).to_contain_text("goes to “d”?")


def test_predict_then_reveal_by_keyboard(page: Page, app_url: str) -> None:
    sent: list[str | bytes] = []

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: sent.append(data))

    page.on("websocket", listen)
    open_compute(page, app_url, "predict=most&at=7,2,0")
    page.remove_listener("websocket", listen)
    assert now(page) == "softmax"
    assert page.locator("td.hidden").all_inner_texts() == ["?"] * 9
    expect(page.locator(".sum")).to_have_count(0)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    # The weight of “cat” is neither drawn nor anywhere in what the server has sent.
    assert "0.74" not in page.content()
    assert not any(weight in str(each) for each in sent for weight in ("0.74", "0.7386"))
    page.locator(".answers button", has_text="mat").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".answers .guessed")).to_have_text("mat")
    page.locator(".answers .reveal").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".question")).to_have_text(re.compile("“mat”.*“cat”.*0.74.*1.73"))
    assert any("0.7386" in str(each) for each in sent)
    assert page.locator("td.hidden").count() == 0
    page.keyboard.press("ArrowRight")
    assert now(page) == "·V"
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Hide the weights again").click()
    expect(page.locator("td.hidden")).to_have_count(9)
    choose(page, "How much")
    page.get_by_label("Your guess").fill("7")
    page.locator(".answers .reveal").click()
    assert page.get_by_label("Your guess").evaluate("field => field.validity.rangeOverflow")
    page.get_by_label("Your guess").fill("0.5")
    page.keyboard.press("Enter")
    expect(page.locator(".question")).to_have_text("You said 0.50: 0.24 too little. “cat” gets 0.74.")
