"""Nothing typed is lost, and the browser's back and forward go through runs and pages as they stood."""

import random

from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from tests.browser.harness import until
from tests.browser.pages import SENTENCE, expect_seen, go, open_page, seen, settle

TEXTS = ("The cat sat on the mat.", "A dog barked at the moon.", "Rain fell on the old roof.", "She closed the red door.")
PAGES = ("Encode", "Translate", "Summarize")


def act(page: Page, draw: random.Random) -> dict[str, object]:
    """One deed that makes a visit: another text is run, another page opened, or something chosen. Returns what is seen then."""
    deed, before = draw.choice(("run", "page", "toggle")), page.url
    if deed == "run":
        box = page.locator("textarea").first
        box.fill(draw.choice([text for text in TEXTS if text != box.input_value()]))
        page.keyboard.press("Enter")
    elif deed == "page":
        shown = page.locator("h1").inner_text()
        go(page, draw.choice([name for name in PAGES if name != shown]))
    else:
        page.get_by_text("Merge subwords to words").click()
    page.wait_for_url(lambda url: url != before)
    settle(page)
    return seen(page)


def walk_back_and_forth(page: Page, app_url: str, *, visits: int, seed: int) -> None:
    """Records visits, and finds each of them again going back, and going forward."""
    draw = random.Random(seed)
    open_page(page, app_url)
    recorded = [seen(page)]
    while len(recorded) < visits:
        recorded.append(act(page, draw))
    for wanted in recorded[-2::-1]:
        page.go_back()
        expect_seen(page, wanted)
    for wanted in recorded[1:]:
        page.go_forward()
        expect_seen(page, wanted)


def type_without_running(page: Page, app_url: str, *, walks: int, seed: int) -> None:
    """Types, does something else, and looks whether what was typed still stands there."""
    draw = random.Random(seed)
    open_page(page, app_url)
    for walk in range(walks):
        text = f"Not run {walk}: first line"
        box = page.locator("textarea").first
        box.fill(text)
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("second line")
        for deed in draw.sample(("tab", "toggle", "head", "away"), 2):
            if deed == "tab":
                page.get_by_role("tab", name=draw.choice(("Grid", "Matrix", "Text")), exact=True).click()
            elif deed == "toggle":
                page.get_by_text("Hide special tokens").click()
            elif deed == "head":
                page.get_by_test_id("stSidebar").get_by_label("Layer").fill(str(draw.randrange(6)))
                page.keyboard.press("Enter")
            else:
                go(page, "Translate")
                go(page, "Encode")
            settle(page)
        expect(box).to_have_value(f"{text}\nsecond line")
        expect(page.get_by_text("Not run yet")).to_be_visible()


def test_back_and_forward_restore_every_visit(page: Page, app_url: str) -> None:
    walk_back_and_forth(page, app_url, visits=6, seed=10)


def test_what_was_typed_and_not_run_stays(page: Page, app_url: str) -> None:
    type_without_running(page, app_url, walks=2, seed=2)
    page.locator("textarea").first.focus()
    page.keyboard.press("Enter")
    settle(page)
    expect(page.get_by_text("Not run yet")).to_have_count(0)
    assert "Not+run+1" in page.url


def test_a_page_that_is_opened_while_somebody_types_opens_and_the_text_stays(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    for turn in range(2):
        page.locator("textarea").first.fill("Typed")
        page.keyboard.type(f" {turn}")
        go(page, "Translate")
        page.locator("textarea").first.fill("Typed, too")
        page.keyboard.type(f" {turn}")
        go(page, "Encode")
        expect(page.locator("textarea").first).to_have_value(f"Typed {turn}")


def test_a_text_is_carried_to_another_page_and_back_is_back(page: Page, app_url: str) -> None:
    open_page(page, app_url)
    page.get_by_role("button", name="Translate", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Translate")
    expect(page.locator("textarea").first).to_have_value(SENTENCE)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Encode")


class SlowConnection:
    """The connection of a page to the server, on which what the server says can be held up for a while."""

    def __init__(self, page: Page) -> None:
        self._held: list[tuple[WebSocketRoute, str | bytes]] | None = None
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        def tell(message: str | bytes) -> None:
            if self._held is None:
                browser.send(message)
            else:
                self._held.append((browser, message))

        browser.connect_to_server().on_message(tell)

    def hold(self) -> None:
        self._held = []

    def wait(self, page: Page, part: bytes) -> None:
        """Until what is held up has that part."""
        said = lambda: any(part in message for _, message in self._held or [] if isinstance(message, bytes))
        assert until(page, said), f"of {len(self._held or [])} messages none has {part!r}; {page.locator('body').inner_text()}"

    def release(self) -> None:
        held, self._held = self._held or [], None
        for browser, message in held:
            browser.send(message)


def test_a_run_that_ends_after_its_page_was_left_leaves_the_address_alone(context: BrowserContext, app_url: str) -> None:
    page = context.new_page()
    connection = SlowConnection(page)
    page.goto(f"{app_url}/whatif")
    settle(page)
    connection.hold()
    page.locator("textarea").first.fill(TEXTS[0])
    page.get_by_role("button", name="Run", exact=True).click()
    connection.wait(page, b"text=The+cat+sat")
    page.get_by_test_id("stSidebarNavLink").filter(has_text="Translate").click()
    connection.wait(page, b"translate")
    connection.release()
    expect(page.get_by_role("heading", level=1)).to_have_text("Translate")
    expect(page).to_have_url(f"{app_url}/translate")
