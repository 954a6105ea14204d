"""The toolbar at the picture: it presents, and Copy link copies at once, over plain http too; the QR code is the link."""

from io import BytesIO

import pytest
from PIL import Image, ImageStat
from playwright.sync_api import Page, PdfMargins, expect
from pypdf import PdfReader

from attnviz.ui.frame.toolbar import picture_of
from tests.browser.harness import until
from tests.browser.pages import open_page, press, settle

# What a browser offers a page that came over plain http from another machine.
WITHOUT_CLIPBOARD = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"

PRESS_AT_ONCE = "keys => { for (const key of keys) document.body.dispatchEvent(new KeyboardEvent('keydown', { key })); }"


def test_an_address_a_press_and_the_key_f_present_and_copy_link_copies_at_once_with_and_without_a_clipboard(
    page: Page, app_url: str
) -> None:
    open_page(page, app_url, layer=2, head=5, present="true")
    presents_and_returns(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    said = page.locator(".tool output")
    read = page.evaluate_handle("() => navigator.clipboard")
    for script in ("", WITHOUT_CLIPBOARD):
        expect(said).to_be_empty()
        page.evaluate("() => navigator.clipboard.writeText('before')")
        page.evaluate(f"() => {{ {script} }}")
        page.get_by_role("button", name="Copy link").click()
        expect(said).to_have_text("Link copied")
        expect(page.get_by_role("button", name="Copy link")).to_be_focused()
        assert read.evaluate("clipboard => clipboard.readText()") == page.url
    page.get_by_role("button", name="QR code").click()
    code = page.get_by_role("img", name="QR code of this link")
    expect(code).to_be_visible()
    first = code.get_attribute("src")
    assert first == picture_of(page.url)
    expect(page.get_by_text("This link works on this machine only")).to_be_visible()
    page.keyboard.press("Escape")
    expect(code).to_have_count(0)
    page.locator(".words [data-index]").nth(1).click()
    settle(page)
    page.get_by_role("button", name="QR code").click()
    expect(code).not_to_have_attribute("src", first or "")
    assert code.get_attribute("src") == picture_of(page.url)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("whatif", {"change": "head", "order": "cost"}), ("heads", {"drawing": "true"}), ("compute", {"source": "model"}),
        ("heads", {"claim": "L2·H0: obj -> head"}), ("answer", {"picture": "matrix"}),
    ],
)  # fmt: skip
def test_on_a_projector_nothing_stands_below_the_screen(page: Page, app_url: str, name: str, values: dict[str, str]) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, app_url, name, present="true", **values)
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollHeight <= main.clientHeight")


def test_on_a_projector_a_picture_in_wide_letters_fits_the_screen(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, app_url, "heads", present="true")
    zoom = "() => Number(document.documentElement.style.getPropertyValue('--present-zoom'))"
    before = page.evaluate(zoom)
    page.locator(".atlas").evaluate("""grid => {
      const wide = new CSSStyleSheet();
      wide.replaceSync("* { letter-spacing: 0.1em !important; }");
      grid.getRootNode().adoptedStyleSheets = [wide];
    }""")
    main = page.get_by_test_id("stMain")
    assert until(page, lambda: main.evaluate("main => main.scrollHeight <= main.clientHeight"))
    assert before * 0.8 < page.evaluate(zoom) < before


@pytest.mark.parametrize(("name", "values"), [("write", {"why": "true"}), ("whatif", {"change": "patch"})])
def test_on_a_projector_all_layers_stand_on_the_screen_and_the_chosen_head_can_be_read(
    page: Page, app_url: str, name: str, values: dict[str, str]
) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    open_page(page, app_url, name, present="true", **values)
    for row in page.locator(".why .costs button.head[data-pick^='29.'], .lens > :last-child").all():
        box = row.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 720
    ring = page.locator(".costs [aria-pressed=true]").evaluate("head => getComputedStyle(head).boxShadow")
    assert "inset" not in ring, "a ring within a low cell covers its number"


def test_forced_colours_and_paper_leave_bars_and_shades(page: Page, app_url: str) -> None:
    marks = (
        ("", ".bar-room i"), ("", ".words .token"), ("write", ".bars .bar i"), ("whatif", '[data-pick="3.1"]'),
        ("translate", "mark"), ("matters", ".shaded button"), ("heads", ".case mark"), ("compute", ".matrix td.chosen"),
    )  # fmt: skip
    for name, mark in marks:
        open_page(page, app_url, name)
        colour = page.locator(mark).first.evaluate_handle("mark => () => getComputedStyle(mark).backgroundColor")
        before = colour.evaluate("colour => colour()")
        assert page.locator(mark).first.evaluate("mark => getComputedStyle(mark).printColorAdjust") == "exact"
        page.emulate_media(forced_colors="active")
        try:
            assert colour.evaluate("colour => colour()") == before
        finally:
            page.emulate_media(forced_colors="none")


def presents_and_returns(page: Page) -> None:
    """What a back row reads is in test_fold.py."""
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    page.wait_for_url(lambda url: "present" not in url)
    page.locator("textarea").first.focus()
    page.keyboard.press("f")
    expect(sidebar).to_be_visible()
    page.locator("textarea").first.blur()
    page.keyboard.press("f")
    expect(sidebar).to_be_hidden()
    page.keyboard.press("f")
    expect(sidebar).to_be_visible()
    page.get_by_role("button", name="Present").click()
    expect(sidebar).to_be_hidden()
    expect(page.locator(".explorer[data-presenting][data-view]")).to_be_visible()
    page.wait_for_url("**present=true*")
    press(page, "ArrowRight", "Enter")
    expect(page.locator(".where")).to_contain_text("head 6 of layer 2")
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    page.wait_for_url(lambda url: "present" not in url)
    page.keyboard.press("f")
    page.wait_for_url("**present=true*")
    settle(page)
    page.go_back()
    expect(sidebar).to_be_visible()
    settle(page)
    assert not page.evaluate("() => document.fullscreenElement")
    page.keyboard.press("f")
    page.wait_for_url("**present=true*")
    # At once off and on again: that the full screen was left is told only then.
    page.evaluate(PRESS_AT_ONCE, ["Escape", "f"])
    settle(page)
    expect(sidebar).to_be_hidden()
    page.wait_for_url("**present=true*")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.fullscreenElement")
    # On and off: the full screen is given when it is not wanted any more.
    page.evaluate("() => { document.changes = 0; document.addEventListener('fullscreenchange', () => document.changes++); }")
    page.evaluate(PRESS_AT_ONCE, ["f", "Escape"])
    page.wait_for_function("() => document.changes > 1 && !document.fullscreenElement")
    expect(sidebar).to_be_visible()


@pytest.mark.parametrize("name", ["encode", "translate", "answer", "whatif"])
def test_a_page_is_printed_on_one_sheet_as_it_stands_on_the_screen_without_the_menu(
    page: Page, app_url: str, name: str
) -> None:
    """In the width of a sheet the picture, measured for the screen, would be cut, and would lie on the sentences below it."""
    open_page(page, app_url, name)
    title = page.locator("h1").inner_text()
    columns = page.locator(".stMainBlockContainer > *").evaluate("({ clientWidth }) => clientWidth")
    # As browsers print, unless they are told otherwise.
    margin: PdfMargins = {"top": "10mm", "right": "10mm", "bottom": "10mm", "left": "10mm"}
    sheets = PdfReader(BytesIO(page.pdf(format="A4", margin=margin))).pages
    assert len(sheets) == 1
    words = sheets[0].extract_text()
    assert title in words
    assert "Copy link" not in words
    assert "Lessons" not in words
    page.emulate_media(media="print")
    assert page.locator(".stMainBlockContainer > *").evaluate("({ clientWidth }) => clientWidth") == columns


def test_a_dark_page_is_light_on_paper(page: Page, app_url: str) -> None:
    """For paper a browser asks for light colours, which Streamlit alone would take: dark letters on dark pictures."""
    page.emulate_media(color_scheme="dark")
    open_page(page, app_url, "answer")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="light")
    settle(page)
    sheet = Image.open(BytesIO(page.screenshot())).convert("L")
    assert sheet.getpixel((0, 0)) == 255
    assert ImageStat.Stat(sheet).mean[0] > 225
    assert page.locator(".stApp").evaluate("app => getComputedStyle(app).colorScheme") == "dark"
    page.emulate_media(media="null", color_scheme="dark")
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("() => Object.hasOwn(matchMedia('(prefers-color-scheme: dark)'), 'matches')")
