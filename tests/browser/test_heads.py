"""The page Heads as a person uses it: a head that is clicked, heads found by a claim, a claim put to the test, and its link."""

from playwright.sync_api import Page, expect

from attnviz.analysis.heads.atlas import shipped_atlas
from attnviz.analysis.heads.verdict import short_claim
from tests.browser.jumps import moved
from tests.browser.pages import DESK, PHONE, open_page, parameters, press, reopen, serious, settle

OWN = "\n".join(["The cat saw the dog."] * 40)


def test_a_head_that_is_clicked_shows_its_evidence_others_are_found_by_a_drawing_and_the_link_opens_both_again(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url, "heads")
    atlas = shipped_atlas("minilm")
    cells = page.locator(".atlas button.head")
    expect(cells).to_have_count(72)
    cell = page.locator('.atlas [data-pick="4.9"]')
    best = atlas.best(4, 9)
    assert best is not None
    expect(cell).to_contain_text(f"{100 * atlas.rates[best, 4, 9]:.0f} %")
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h3", has_text="What L4·H9 does")).to_be_visible()
    expect(page.locator(".claims tbody tr").first).to_contain_text(short_claim(atlas.claims[best].text))
    expect(cell).to_have_class("head holds")
    settle(page)
    assert (parameters(page)["layer"], parameters(page)["head"]) == ("4", "9")
    draws_by_keyboard(page)
    told = page.locator(".st-key-hero .story").first.inner_text()
    reopen(page)
    assert page.locator(".st-key-hero .story").first.inner_text() == told
    expect(page.locator("h3", has_text="What L4·H9 does")).to_be_visible()
    assert serious(page) == []


def draws_by_keyboard(page: Page) -> None:
    page.get_by_text("Find heads by a drawing", exact=True).click()
    settle(page)
    page.locator('.board [data-pick="cell:0"]').focus()
    press(page, "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown", "Enter")
    expect(page.locator('.board [data-pick="cell:10"]')).to_have_attribute("aria-pressed", "true")
    settle(page)
    # Of "the previous word" and one more cell, the other row is changed: words 1 and 3.
    assert parameters(page)["drawn"] == "00a0402010080402"


def test_a_claim_is_tested_on_sentences_of_ones_own_in_a_room_of_its_own_and_its_case_opens_on_encode(
    slow: Page, app_url: str
) -> None:
    slow.set_viewport_size(DESK)
    open_page(slow, app_url, "heads", sentences=OWN)
    slow.locator("[class*=st-key-prompt] textarea").fill("L0·H2: any -> previous")
    # What moves before the place of the verdict is first drawn is forgotten.
    slow.evaluate(
        """() => new MutationObserver((_, observer) => {
          if (!document.querySelector(".st-key-verdict")) return;
          observer.disconnect();
          requestAnimationFrame(() => requestAnimationFrame(() => forgetMoves()));
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    slow.get_by_role("button", name="Run", exact=True).click()
    expect(slow.get_by_text("It holds: L0·H2 looks from a word to the word before it in 100 %")).to_be_visible()
    settle(slow)
    jumped, parts = moved(slow)
    assert round(jumped, 2) == 0, parts
    # Beside a lesson the column of the rivals is as narrow as 200 px: their rates stand in it all the same.
    assert slow.locator(".rivals").evaluate("table => { table.style.width = '200px'; return table.scrollWidth <= 200; }")
    slow.locator(".case.right").first.click()
    slow.wait_for_url("**/encode?**")
    assert (parameters(slow)["text"], parameters(slow)["layer"], parameters(slow)["head"]) == ("The cat saw the dog.", "0", "2")


def test_heads_are_found_by_a_claim_on_a_phone_where_axe_finds_nothing_serious(page: Page, app_url: str) -> None:
    page.set_viewport_size(PHONE)
    open_page(page, app_url, "heads", find="obj -> head")
    atlas = shipped_atlas("minilm")
    number = next(index for index, claim in enumerate(atlas.claims) if claim.text == "obj -> head")
    expect(page.locator(".atlas.finding .holds")).to_have_count(len(atlas.holding(number)))
    assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.emulate_media(color_scheme="dark")
    settle(page)
    assert serious(page, "dark") == []
