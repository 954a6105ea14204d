"""Write in a browser: words come, can be looked at and exchanged, and a reload shows the same."""

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.browser.pages import open_page, settle

# A click on the third word that was written: what stands above the bars before and right after it, and how many are that word.
CLICKED = """() => {
  const parts = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].map((part) => part.shadowRoot);
  const find = (selector) => parts.flatMap((part) => [...(part?.querySelectorAll(selector) ?? [])]);
  const before = find(".caption b")[0].textContent;
  find("button.written")[2].click();
  return [before, find(".caption b")[0].textContent, find(".bar.stands").length];
}"""


def written(page: Page) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get("written", [""])[0].split()


def test_words_are_written_looked_at_exchanged_and_stay_after_a_reload(page: Page, app_url: str) -> None:
    open_page(page, app_url, "write", more=4)
    expect(page.locator(".story strong").first).to_have_text("“Mary”")
    page.get_by_role("button", name="Write on").click()
    expect(page.locator("button.written")).to_have_count(4)
    settle(page)
    before = written(page)
    assert before[0] == "ĠMary"
    # What could have stood there, and another word in its place.
    assert page.evaluate(CLICKED) == ["What could come next.", "What could have stood here.", 1]
    expect(page.locator("button.written").nth(2)).to_have_class("written chosen")
    expect(page.locator(".bar.stands")).to_have_count(1)
    expect(page.locator(".story p").first).to_contain_text("Here the model expects")
    page.locator("button.bar:not(.stands)").first.click()
    expect(page.locator("button.written")).to_have_count(3)
    settle(page)
    assert written(page)[:2] == before[:2]
    assert written(page)[2] != before[2]
    shown = (
        page.locator(".text.long").inner_text(),
        page.locator(".bars").inner_text(),
        page.locator(".story").first.inner_text(),
    )
    page.reload()
    settle(page)
    again = (
        page.locator(".text.long").inner_text(),
        page.locator(".bars").inner_text(),
        page.locator(".story").first.inner_text(),
    )
    assert again == shown
    page.get_by_role("button", name="Back to the text").click()
    expect(page.locator("button.written")).to_have_count(0)


def test_what_came_stays_where_it_is_stopped(page: Page, app_url: str) -> None:
    open_page(page, app_url, "write", text="Once upon a time there", more=200)
    page.get_by_role("button", name="Write on").click()
    expect(page.get_by_text(" of 200 tokens")).to_be_visible()
    # The text stands there once, while it grows and after.
    expect(page.locator(".st-key-writing [role=status]")).to_be_visible()
    expect(page.locator(".text.long")).to_be_hidden()
    page.get_by_role("button", name="Stop").click()
    settle(page)
    assert 0 < len(written(page)) < 200
    expect(page.locator("button.written")).to_have_count(len(written(page)))
    expect(page.locator(".text.long")).to_be_visible()
    expect(page.locator(".st-key-writing [role=status]")).to_have_count(0)


def test_why_a_word_is_written_stays_after_a_reload(page: Page, app_url: str) -> None:
    open_page(page, app_url, "write", why="true", rather="John")
    expect(page.locator(".lens .own")).to_have_count(1)
    page.locator('.why button[data-pick="24.4"]').click()
    expect(page.locator('.why button[data-pick="24.4"]')).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("With L24·H4 off")).to_be_visible()
    settle(page)
    shown = page.locator(".why").inner_text(), page.locator(".lens").inner_text(), page.locator(".story").all_inner_texts()
    page.reload()
    expect(page.locator(".lens .own")).to_have_count(1)
    settle(page)
    again = page.locator(".why").inner_text(), page.locator(".lens").inner_text(), page.locator(".story").all_inner_texts()
    assert again == shown


def test_a_word_that_is_clicked_twice_is_let_go_of_on_the_way_back(page: Page, app_url: str) -> None:
    open_page(page, app_url, "write")
    chosen = page.locator(".text.long .chosen")
    before = chosen.get_attribute("data-pick")
    for _ in range(2):
        page.locator(".text.long [data-pick='5']").click()
        expect(chosen).to_have_attribute("data-pick", "5")
        settle(page)
    page.go_back()
    settle(page)
    expect(chosen).to_have_attribute("data-pick", str(before))
