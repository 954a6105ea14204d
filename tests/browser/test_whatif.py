"""What if as a person uses them: a head chosen by the keyboard, its link, its way to other pages, phones, axe."""

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.harness import watched
from tests.browser.pages import PHONE, choose, open_page, parameters, press, reopen, serious, settle


def test_a_head_is_chosen_by_keyboard_its_link_opens_again_and_on_a_phone_axe_finds_nothing_serious(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url, "whatif", change="word")
    # The example stands in the line of what is chosen beside it.
    tops = [
        page.locator(f".st-key-{key} button").first.evaluate("each => each.getBoundingClientRect().top")
        for key in ("change", "example")
    ]
    assert tops[0] == pytest.approx(tops[1], abs=1)
    read_cells(page)
    choose_head(page, "3.9")
    told = page.locator(".st-key-hero .story").first.inner_text()
    reopen(page)
    expect(page.locator('[data-pick="3.9"]')).to_have_attribute("aria-pressed", "true")
    assert page.locator(".st-key-hero .story").first.inner_text() == told
    # On a narrow phone the word that differs, at the end of both texts, is seen.
    page.set_viewport_size({"width": 360, "height": 740})
    settle(page)
    boxes = page.locator('[class*="st-key-prompt"] textarea')
    assert boxes.evaluate_all("boxes => boxes.map(each => each.scrollHeight <= each.clientHeight)") == [True, True]
    names = page.locator(".changes td:first-child")
    assert names.evaluate_all("cells => Math.min(...cells.map((each) => each.clientWidth))") > 95, "long words are broken"
    page.set_viewport_size(PHONE)
    fits_a_phone(page)
    choose(page, "Another model")
    fits_a_phone(page)
    choose(page, "A head off")
    choose_head(page, "encoder.2.5")
    fits_a_phone(page)
    # In the dark, words and matrices are looked at in test_fold.py.
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert serious(page, "dark") == []


def test_below_an_error_no_room_is_kept_for_a_picture(page: Page, app_url: str) -> None:
    for address, part in (
        ("heads?claim=nonsense", "verdict"),
        ("whatif?change=patch&text=The+cat.&other=A+longer+text.", "hero"),
    ):
        page.goto(f"{app_url}/{address}")
        error = page.locator(f".st-key-{part}").get_by_test_id("stAlertContentError")
        expect(error).to_be_visible()
        settle(page)
        ends = [page.locator(f".st-key-{part}").bounding_box(), error.bounding_box()]
        whole, said = (box["y"] + box["height"] for box in ends if box)
        assert whole - said < 50, address
    open_page(page, app_url, "whatif", text="A dog.", other="A dog.")
    ends = [page.locator(f".st-key-hero{part}").bounding_box() for part in ("", " .story")]
    whole, said = (box["y"] + box["height"] for box in ends if box)
    assert whole - said < 50


def test_under_a_finger_the_chosen_head_stands_beside_its_layer(browser: Browser, app_url: str) -> None:
    with watched(browser, viewport=PHONE, has_touch=True, is_mobile=True) as context:
        page = context.new_page()
        open_page(page, app_url, "whatif", layer=3, head=1)
        layer, head = (page.locator(each).bounding_box() for each in (".costs .layer:text('L3')", '.costs [data-pick="3.1"]'))
        assert layer
        assert head
        assert head["x"] >= layer["x"] + layer["width"]


def test_a_word_without_an_end_makes_no_page_wider(page: Page, app_url: str) -> None:
    long = "a" * 400
    for path, more in {"whatif": {"other": f"{long} x"}, "encode": {}, "compute": {"source": "model", "query": 1}}.items():
        open_page(page, app_url, path, text=f"{long} cat", **more)
        for table in page.locator(".links summary").all():
            table.click()
        assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 1, path


def choose_head(page: Page, pick: str) -> None:
    cell = page.locator(f'[data-pick="{pick}"]')
    cell.press("Enter")
    expect(cell).to_have_attribute("aria-pressed", "true")
    settle(page)
    assert [parameters(page)["layer"], parameters(page)["head"]] == pick.split(".")[-2:]


def fits_a_phone(page: Page) -> None:
    page.mouse.move(0, 0)
    settle(page)
    assert serious(page) == []
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollWidth - main.clientWidth") <= 1


def read_cells(page: Page) -> None:
    """The cells of a matrix, one by one with the arrow keys."""
    matrix, reading = page.locator("svg.cells").nth(1), page.locator(".reading")
    matrix.focus()
    first = matrix.locator("rect").first.text_content()
    assert first
    expect(reading).to_contain_text(first.rpartition(": ")[0])
    press(page, "ArrowUp", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight")
    # As many as stand in the first row.
    columns = matrix.evaluate(
        "each => each.querySelectorAll(`rect[y='${each.querySelector('rect').getAttribute('y')}']`).length"
    )
    cell = matrix.locator("rect").nth(2 * columns + 1)
    expect(cell).to_have_class("read")
    names, _, weight = (cell.text_content() or "").rpartition(": ")
    expect(reading).to_contain_text(f"{names} · First text")
    expect(reading).to_contain_text(f"Second text {weight}")
    # Of two tokens that both sides have, the same cell is marked in all three.
    expect(page.locator("rect.read")).to_have_count(3)


def test_work_that_takes_long_can_be_stopped_and_gone_on_with(page: Page, app_url: str) -> None:
    long = "Nobody has ever asked for so many words about one head at once, and yet they are all read. " * 12
    page.goto(f"{app_url}/whatif?{urlencode({'change': 'head', 'text': long})}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("You stopped this.").wait_for()
    expect(page).to_have_url(re.compile("stopped=(costs|curve)"))
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page).not_to_have_url(re.compile("stopped="))
    # Nobody waits for it.
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("You stopped this.").wait_for()


def test_on_a_projector_every_layer_is_seen_and_why_a_word_comes_takes_the_place_of_what_could_come(
    page: Page, app_url: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, app_url, "whatif", change="patch", present="true")
    last = page.locator('.why [data-pick="29.8"]').bounding_box()
    assert last
    assert last["y"] + last["height"] <= 720
    open_page(page, app_url, "write", present="true")
    expect(page.locator(".bars")).to_be_visible()
    page.get_by_text("Why this word?").click()
    expect(page.locator('.why [data-pick="29.8"]')).to_have_count(1)
    expect(page.locator(".bars")).not_to_be_visible()
