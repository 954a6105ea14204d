"""What if as a person uses them: a head chosen by the keyboard, its link, its way to other pages, phones, axe."""

import csv
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import PHONE, open_page, parameters, press, save_download, serious, settle


@pytest.mark.parametrize(("change", "pick"), [("head", "encoder.3.9"), ("word", "3.9")])
def test_a_head_that_is_chosen_by_keyboard_opens_again_from_its_link(page: Page, other: Page, app_url, change, pick) -> None:
    open_page(page, app_url, "whatif", change=change)
    cell = page.locator(f'[data-pick="{pick}"]')
    cell.press("Enter")
    expect(cell).to_have_attribute("aria-pressed", "true")
    settle(page)
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("3", "9")
    drawn = page.locator(".st-key-hero .story").first.inner_text()
    other.goto(page.url)
    settle(other)
    expect(other.locator(f'[data-pick="{pick}"]')).to_have_attribute("aria-pressed", "true")
    assert other.locator(".st-key-hero .story").first.inner_text() == drawn


def test_one_press_on_encode_shows_what_its_heads_cost_and_a_head_leads_back(page: Page, app_url, tmp_path: Path) -> None:
    page.goto(f"{app_url}/encode?{urlencode({'text': 'The cat sat on the mat.'})}")
    page.get_by_role("button", name="Which heads matter here?").click()
    page.wait_for_url("**/whatif?**")
    settle(page)
    assert parameters(page)["text"] == "The cat sat on the mat."
    page.get_by_role("button", name="Download", exact=True).click()
    with save_download(page, "CSV", tmp_path).open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 72
    page.keyboard.press("Escape")
    page.locator('[data-pick="encoder.2.5"]').click()
    page.get_by_text("Without head 5 of layer 2").wait_for()
    page.get_by_role("button", name="See this head").click()
    page.wait_for_url("**/encode?**")
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("2", "5")


def test_work_that_takes_long_can_be_stopped_and_gone_on_with(page: Page, app_url) -> None:
    long = "Nobody has ever asked for so many words about one head at once, and yet they are all read. " * 12
    page.goto(f"{app_url}/whatif?{urlencode({'change': 'head', 'text': long})}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("You stopped this.").wait_for()
    expect(page).to_have_url(re.compile("stopped=(costs|curve)"))
    page.get_by_role("button", name="Continue", exact=True).click()
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    expect(page).not_to_have_url(re.compile("stopped="))


def test_a_matrix_is_read_cell_by_cell_with_the_arrow_keys(page: Page, app_url) -> None:
    open_page(page, app_url, "whatif")
    matrix, reading = page.locator("svg.cells").nth(1), page.locator(".reading")
    matrix.focus()
    first = matrix.locator("rect").first.text_content()
    assert first
    expect(reading).to_contain_text(first.rpartition(": ")[0])
    press(page, "ArrowUp", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowRight")
    columns = int(matrix.get_attribute("data-columns") or 0)
    cell = matrix.locator("rect").nth(2 * columns + 1)
    expect(cell).to_have_class("read")
    names, _, weight = (cell.text_content() or "").rpartition(": ")
    expect(reading).to_contain_text(f"{names} · First text")
    expect(reading).to_contain_text(f"Second text {weight}")
    # Of two tokens that both sides have, the same cell is marked in all three.
    expect(page.locator("rect.read")).to_have_count(3)


@pytest.mark.parametrize("change", ["head", "word", "model"])
def test_axe_finds_nothing_serious_and_a_phone_scrolls_down_only(page: Page, app_url, change) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, app_url, "whatif", change=change)
    assert serious(page) == []
    wide = page.locator('[data-testid="stMain"]').evaluate("main => main.scrollWidth - main.clientWidth")
    assert wide <= 1
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert serious(page, "dark") == []
