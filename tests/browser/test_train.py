"""The Train page as a class sees it: a model learns to write backwards, is paused, played back, and tried on a word."""

import re

from playwright.sync_api import Page, expect

from tests.browser.pages import settle

# A busy machine takes its time to train a model that a free one trains in five seconds.
LEARNED = 120_000

# Counts the frames in which the page is hidden from now on.
HIDDEN = """() => {
  window.hidden = 0;
  const look = () => {
    const page = document.querySelector("[data-testid=stMainBlockContainer]");
    window.hidden += getComputedStyle(page).visibility !== "visible";
    requestAnimationFrame(look);
  };
  look();
}"""
# In one piece: while a model trains, the picture is drawn anew between two questions.
PLACE = """() => {
  const roots = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => (shadowRoot ? [shadowRoot] : []));
  const sequences = [document, ...roots].flatMap((root) => [...root.querySelectorAll(".sequence")]);
  return sequences.map((each) => JSON.stringify(each.getBoundingClientRect()));
}"""


def test_a_model_learns_to_reverse_is_played_back_and_tried(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/train")
    accuracy, error = page.locator(".curve strong").nth(0), page.locator(".curve strong").nth(1)
    expect(accuracy).to_have_text("0 %", timeout=LEARNED)
    assert page.locator(".sequence svg").count() == 1
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=LEARNED)
    (place,) = page.evaluate(PLACE)
    page.evaluate(HIDDEN)
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Pause", exact=True).click(timeout=LEARNED)
    expect(page.get_by_text(re.compile("^Paused at step"))).to_be_visible(timeout=LEARNED)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(accuracy).to_have_text(re.compile(r"^(9[5-9]|100)\s%$"), timeout=LEARNED)
    expect(error).to_have_text(re.compile(r"^0\.0[0-5]$"), timeout=LEARNED)
    expect(page.get_by_text(re.compile("^Trained"))).to_be_visible(timeout=LEARNED)
    # Nothing has jumped, nor would it with wider figures or in another font.
    assert page.evaluate(PLACE) == [place]
    read_heights = "all => all.map((each) => each.offsetHeight)"
    heights = page.locator(".curve").evaluate_all(read_heights)
    page.locator(".curve span, .curve strong").evaluate_all(
        "all => all.forEach((each) => (each.textContent = 'wide '.repeat(40)))"
    )
    assert page.locator(".curve").evaluate_all(read_heights) == heights
    assert page.evaluate(PLACE) == [place]
    # A box comes below the picture: the page stays seen.
    page.get_by_role("textbox", name="Your own input").wait_for(timeout=LEARNED)
    assert page.evaluate("() => window.hidden") == 0
    page.get_by_role("slider").first.focus()
    page.keyboard.press("Home")
    expect(accuracy).to_have_text("0 %", timeout=LEARNED)
    own = page.get_by_role("textbox", name="Your own input")
    own.fill("hello")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("The right output is olleh.")).to_be_visible(timeout=LEARNED)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("End")
    expect(page.locator(".answer")).to_have_text("olleh", timeout=LEARNED)
    expect(own).to_have_value("hello")
    # What it writes comes before the matrix of the same step.
    settle(page)
    # A cell is chosen by the keyboard, which stays where it is, and says what stands in it.
    matrix, reading = page.locator(".compared .cells"), page.locator(".reading")
    chosen = page.locator(".compared rect.selected title")
    before = chosen.text_content()
    matrix.focus()
    page.keyboard.press("ArrowDown")
    reached = (reading.text_content() or "").replace(" · weight", ":")
    assert reached != before
    page.keyboard.press("Enter")
    expect(chosen).to_have_text(reached, timeout=LEARNED)
    page.keyboard.press("ArrowUp")
    expect(reading).to_have_text((before or "").replace(":", " · weight"))
    # Who leaves it reads the chosen one again.
    page.keyboard.press("Tab")
    expect(reading).to_have_text(reached.replace(":", " · weight"))
    # A phone shows the column of what it writes, and all of what the slider is for.
    page.set_viewport_size({"width": 360, "height": 740})
    settle(page)
    for whole in (".sequence .matrix", ".st-key-training-step"):
        room = "box => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]"
        assert page.locator(whole).evaluate(room) == [0, 0]
