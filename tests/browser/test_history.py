"""Nothing typed is lost, and the browser's back and forward go through runs and pages as they stood."""

from contextlib import closing

from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.harness import until
from tests.browser.pages import choose, expect_seen, go, open_page, run, seen, settle

TEXT = "The cat sat on the mat."
# By then a run has ended and a wrong address would be there, on a slow machine too (ms).
LATE = 3000


def test_back_and_forward_restore_every_visit(page: Page, app_url: str) -> None:
    """Another text, an option, and another page, to which the text is carried, are visits."""
    open_page(page, app_url)
    visits = [seen(page)]
    run(page, TEXT)
    visits.append(seen(page))
    page.get_by_text("Merge subwords to words").click()
    settle(page)
    visits.append(seen(page))
    page.get_by_role("button", name="Translate", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Translate")
    expect(page.locator("textarea").first).to_have_value(TEXT)
    settle(page)
    visits.append(seen(page))
    assert len({visit["address"] for visit in visits}) == len(visits)
    for wanted in visits[-2::-1]:
        page.go_back()
        settle(page)
        expect_seen(page, wanted)
    for wanted in visits[1:]:
        page.go_forward()
        settle(page)
        expect_seen(page, wanted)
    page.goto(str(visits[1]["address"]))
    settle(page)
    expect_seen(page, visits[1])


def test_what_was_typed_and_not_run_stays(page: Page, app_url: str) -> None:
    """Whatever else is done meanwhile, another page opened in the middle of a word included."""
    open_page(page, app_url)
    box = page.locator("textarea").first
    box.fill("Not run: first line")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("second line")
    page.get_by_role("tab", name="Matrix", exact=True).click()
    settle(page)
    page.get_by_text("Hide special tokens").click()
    settle(page)
    page.get_by_test_id("stSidebar").get_by_label("Layer", exact=True).fill("2")
    page.keyboard.press("Enter")
    settle(page)
    expect(box).to_have_value("Not run: first line\nsecond line")
    box.focus()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type(", typed on")
    go(page, "Translate")
    box.fill("Typed, too")
    page.keyboard.type(" far")
    go(page, "Encode")
    expect(box).to_have_value("Not run: first line\nsecond line, typed on")
    expect(page.get_by_text("Not run yet")).to_be_visible()
    box.focus()
    page.keyboard.press("Enter")
    settle(page)
    expect(page.get_by_text("Not run yet")).to_have_count(0)
    assert "Not+run" in page.url


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


def test_a_run_that_ends_after_its_page_was_left_leaves_the_address_alone(page: Page, app_url: str) -> None:
    with closing(page.context.new_page()) as slow:
        connection = SlowConnection(slow)
        slow.goto(f"{app_url}/whatif")
        settle(slow)
        connection.hold()
        slow.locator("textarea").first.fill(TEXT)
        slow.get_by_role("button", name="Run", exact=True).click()
        connection.wait(slow, b"text=The+cat+sat")
        slow.get_by_test_id("stSidebarNavLink").filter(has_text="Translate").click()
        connection.wait(slow, b"translate")
        connection.release()
        expect(slow.get_by_role("heading", level=1)).to_have_text("Translate")
        expect(slow).to_have_url(f"{app_url}/translate")


def test_a_step_back_that_is_drawn_late_leaves_the_next_one_alone(page: Page, app_url: str) -> None:
    with closing(page.context.new_page()) as slow:
        connection = SlowConnection(slow)
        open_page(slow, app_url, "compute", seed=7)
        first = slow.url
        for name in ("Why divide by √d", "Two heads"):
            choose(slow, name)
            slow.wait_for_url(f"**worked={name.split()[0]}*")
        connection.hold()
        slow.go_back()
        connection.wait(slow, b'"compute", "worked')
        slow.go_back()
        connection.release()
        connection.hold()
        slow.wait_for_timeout(LATE)
        assert slow.url == first
        connection.release()
        settle(slow)
        assert slow.url == first


def test_a_page_that_is_returned_to_while_a_run_ends_is_there(page: Page, app_url: str) -> None:
    with closing(page.context.new_page()) as slow:
        connection = SlowConnection(slow)
        slow.goto(app_url)
        settle(slow)
        go(slow, "Encode")
        connection.hold()
        slow.get_by_text("Hide special tokens").click()
        connection.wait(slow, b"hide_special=true")
        slow.wait_for_timeout(LATE)
        slow.get_by_test_id("stSidebarNavLink").filter(has_text="Home").click()
        slow.wait_for_timeout(LATE)
        connection.release()
        expect(slow.get_by_role("heading", level=1)).to_have_text("attnviz")
