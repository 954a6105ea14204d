"""The page Heads as a person uses it: a head that is clicked, heads found by a claim, a claim put to the test, and its link."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from attnviz.analysis.heads.wording import short_claim
from attnviz.survey.shipped import shipped_atlas
from tests.browser.test_accessible import serious
from tests.browser.test_encode import PICTURE, parameters
from tests.browser.test_fold import DESK, SHIFTS, shift

OWN = "\n".join(["The cat saw the dog."] * 40)


def open_heads(page: Page, app_url: str, **asked: str) -> None:
    page.goto(f"{app_url}/heads?{urlencode(asked)}")
    settled(page)


def settled(page: Page) -> None:
    page.locator(".atlas").wait_for(timeout=PICTURE)
    page.wait_for_selector("[data-test-script-state=notRunning]", state="attached", timeout=PICTURE)


def test_a_head_that_is_clicked_shows_its_evidence_and_the_link_opens_it_again(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    open_heads(page, app_url)
    atlas = shipped_atlas("minilm")
    cells = page.locator(".atlas button.head")
    expect(cells).to_have_count(72)
    cell = page.locator('.atlas [data-pick="4.9"]')
    best = atlas.best(4, 9)
    assert best is not None
    expect(cell).to_contain_text(f"{atlas.rates[best, 4, 9]:.0%}")
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h3", has_text="What L4·H9 does")).to_be_visible(timeout=PICTURE)
    expect(page.locator(".claims tbody tr").first).to_contain_text(short_claim(atlas.claims[best].text))
    settled(page)
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("4", "9")
    second = context.new_page()
    second.goto(page.url)
    settled(second)
    expect(second.locator('.atlas [data-pick="4.9"]')).to_have_class("head chosen holds")


def test_heads_are_found_by_a_drawing_with_the_keyboard_alone(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    open_heads(page, app_url, drawing="true")
    page.locator('.board [data-pick="cell:0"]').focus()
    for key in ("ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    cell = page.locator('.board [data-pick="cell:10"]')
    expect(cell).to_have_attribute("aria-pressed", "true", timeout=PICTURE)
    settled(page)
    # Of "the previous word" and one more cell, the second row is changed: words 1 and 3.
    assert parameters(page)["drawn"] == "00a0402010080402"
    said = page.locator(".st-key-hero .story").first.inner_text()
    second = context.new_page()
    second.goto(page.url)
    settled(second)
    assert second.locator(".st-key-hero .story").first.inner_text() == said
    assert serious(second) == []


def test_heads_are_found_by_a_claim(page: Page, app_url: str) -> None:
    open_heads(page, app_url, find="det -> head")
    atlas = shipped_atlas("minilm")
    number = next(index for index, claim in enumerate(atlas.claims) if claim.text == "det -> head")
    expect(page.locator(".atlas.finding .holds")).to_have_count(len(atlas.holding(number)))


def test_a_claim_is_tested_on_sentences_of_ones_own_and_its_case_opens_on_encode(page: Page, app_url: str) -> None:
    open_heads(page, app_url, claim="L0·H2: any -> previous", sentences=OWN)
    expect(page.get_by_text("It holds: L0·H2 looks from a word to the word before it in 100%")).to_be_visible(timeout=PICTURE)
    page.locator(".case.right").first.click()
    page.wait_for_url("**/encode?**", timeout=PICTURE)
    assert (parameters(page)["text"], parameters(page)["layer"], parameters(page)["head"]) == ("The cat saw the dog.", "0", "2")


def test_a_verdict_has_its_room_before_it_is_known(page: Page, app_url: str) -> None:
    page.set_viewport_size(DESK)
    page.add_init_script(SHIFTS)
    open_heads(page, app_url, sentences=OWN)
    page.locator("[class*=st-key-prompt] textarea").fill("L0·H1: any -> previous")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator(".st-key-verdict").wait_for(timeout=PICTURE)
    page.wait_for_timeout(100)
    reserved = len(page.evaluate("window.shifts"))
    expect(page.get_by_text("L0·H1 looks from a word")).to_be_visible(timeout=PICTURE)
    settled(page)
    moved, shifts = shift(page, reserved)
    assert round(moved, 2) == 0, shifts


@pytest.mark.parametrize(("claim", "wrong"), [("objj -> head", "is no relation"), ("obj -> head", "their syntax")])
def test_a_claim_that_cannot_be_tested_says_why(page: Page, app_url: str, claim: str, wrong: str) -> None:
    open_heads(page, app_url, claim=claim, sentences="The cat sat.")
    expect(page.locator('[data-testid="stAlert"]')).to_contain_text(wrong, timeout=PICTURE)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_where_heads_are_found_on_a_phone(page: Page, app_url: str, scheme) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    open_heads(page, app_url, find="obj -> head")
    assert serious(page, scheme) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
