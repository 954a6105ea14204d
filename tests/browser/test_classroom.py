"""A class, walked: a teacher at the projector and two phones, from a picture to the guesses on it."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PIL import ImageColor
from playwright.sync_api import Browser, Page, WebSocket, expect

from attnviz.figures.theme import LIGHT
from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion
from attnviz.lessons.classroom.store import ClassStore
from attnviz.ui.address.address_sync import query_of
from tests.browser.harness import forget, watched
from tests.browser.pages import settle

TEXT = "The trophy did not fit in the suitcase because it was too big."
SMALLEST = """() => Math.min(...[...document.querySelector(".st-key-class-wall, main").querySelectorAll("*")].flatMap((each) =>
  each.shadowRoot ? [...each.shadowRoot.querySelectorAll("#phone :is(h1, p, span, b, small, bdi)")] : [])
  .filter((each) => each.checkVisibility() && each.textContent.trim())
  .map((each) => parseFloat(getComputedStyle(each).fontSize) * (each.currentCSSZoom ?? 1)))"""


@pytest.fixture
def phones(browser: Browser) -> Iterator[list[Page]]:
    with watched(browser) as one, watched(browser) as other:
        yield [each.new_page() for each in (one, other)]


def press(page: Page, key: str) -> None:
    page.locator(f".st-key-{key} button").first.click()


def test_a_class_is_asked_about_a_picture_and_its_guesses_come_back_onto_it(
    page: Page, other: Page, app_url: str, phones: list[Page]
) -> None:
    teacher, stranger = page, other
    received: list[bytes | str] = []

    def heard(socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: received.append(frame))

    teacher.set_viewport_size({"width": 1920, "height": 1080})
    teacher.on("websocket", heard)
    teacher.goto(f"{app_url}/lessons?lesson=what-is-it&step=5")
    press(teacher, "ask-class")
    # Not in the browser's blue, which nobody reads in the dark.
    link, accent = teacher.locator(".class-join"), ImageColor.getrgb(LIGHT.accent)
    expect(link).to_have_css("color", f"rgb{accent}")
    press(teacher, "start-class")
    # The lesson's panel makes room for the wall, and its questions are offered there.
    code = teacher.locator("#phone .code").inner_text()
    expect(teacher.locator(".st-key-class-next button").first).to_have_text("Ask question 1.1")
    picture = f"{app_url}/encode?{query_of({'text': TEXT, 'layer': '3', 'head': '1', 'query': '10', 'key': '2'})}"
    for phone in phones:
        phone.goto(f"{app_url}/join/{code}")
        expect(phone.locator("header")).to_contain_text(code)
    expect(teacher.locator("#phone header")).to_contain_text("2 here")
    # Who has only the code sees the wall, and decides nothing.
    stranger.goto(f"{app_url}/class?class={code}&teach={code}.guessed.guessed")
    expect(stranger.locator("#phone .code")).to_have_text(code)
    # What was given as a secret has left the address, which a projector shows.
    expect(stranger).to_have_url(f"{app_url}/class?class={code}")
    assert stranger.locator(".st-key-class-controls").count() == 0
    assert code not in json.dumps(stranger.context.cookies())

    teacher.goto(picture)
    press(teacher, "ask-class")
    press(teacher, "ask-0")
    expect(teacher.locator("#phone h1")).to_have_text("Which word does “it” look at most, in head 1 of layer 3?")
    # From here on nothing may tell what is right.
    expect(teacher.locator("#phone .picture .marked").first).to_have_text("it")
    hidden = teacher.locator("#phone .picture .weight[style*='url(']")
    # A label beside every row and above every column, and a question mark at the row that is hidden.
    assert hidden.count() == teacher.locator("#phone .picture text").count() // 2
    received.clear()
    for phone, word in zip(phones, ("trophy", "suitcase"), strict=True):
        phone.locator(f"button[data-answer={word}]").click()
        phone.locator(".send").click()
    expect(teacher.locator("#phone header")).to_contain_text("2 answered")
    # The wall has been drawn anew since, and the visitor can still read why it is not theirs.
    expect(stranger.locator("#phone header")).to_contain_text("2 answered")
    expect(stranger.get_by_text("this link is not its teacher")).to_be_visible()
    everything = b"".join(each if isinstance(each, bytes) else each.encode() for each in received)
    assert b"answered" in everything
    assert b'"truth"' not in everything
    assert "57\u00a0%".encode() not in everything
    assert b"57 %" not in everything

    # The teacher's laptop is gone, with its session, and comes back to the same question: the browser keeps whose class it is.
    asked = teacher.locator("#phone h1").inner_text()
    teacher.remove_listener("websocket", heard)
    teacher.evaluate("sessionStorage.clear()")
    teacher.goto("about:blank")
    teacher.goto(f"{app_url}/class")
    expect(teacher.locator(".st-key-class-reveal button")).to_be_visible()
    expect(teacher.locator("#phone h1")).to_have_text(asked)
    expect(teacher.locator("#phone header")).to_contain_text("2 answered")
    teacher.keyboard.press("PageDown")
    expect(teacher.locator("#phone .told")).to_contain_text("“it” gives “trophy” 57 %")
    for word in ("trophy", "suitcase"):
        expect(teacher.locator(f"#phone .word:has(bdi:text-is('{word}')) .guesses")).to_have_text("1")
    expect(phones[0].locator(".verdict")).to_have_text("You were right.")
    expect(phones[1].locator(".verdict")).to_have_text("Not this time.")
    assert teacher.evaluate(SMALLEST) >= 28
    assert hidden.count() == 0
    # What has come while the page stood is in the files: what is right, after the reveal.
    teacher.locator(".st-key-class-download button").click()
    for file, right in (("csv", "trophy,yes"), ("html", "Right: trophy")):
        with teacher.expect_download() as download:
            press(teacher, f"class-{file}")
        assert right in Path(download.value.path()).read_text(encoding="utf-8")
    teacher.keyboard.press("Escape")
    # On the whole screen, too, the picture leaves room for the buttons.
    teacher.keyboard.press("f")
    expect(teacher.locator(":root")).to_have_class("presenting")
    assert teacher.locator("#phone .picture svg").evaluate("svg => svg.getBoundingClientRect().height / innerHeight") < 0.67
    teacher.keyboard.press("Escape")
    teacher.locator(".st-key-class-picture button").click()
    # The same picture, at the word that was asked about.
    teacher.wait_for_url("**/encode?**query=10**")


# A front that keeps routes to itself. One of Playwright's would take the browser's cache along.
FRONT = """(kept) => {
  const ask = window.fetch;
  window.fetch = (address, ...more) => new URL(address, location.href).pathname.startsWith(kept)
    ? Promise.resolve(new Response("Not here.", { status: 404, headers: { "Content-Type": "text/plain" } }))
    : ask(address, ...more);
}"""


def test_behind_a_front_that_hides_the_phones_own_routes_the_phone_is_a_page_of_the_app(
    page: Page, app_url: str, class_store: str
) -> None:
    page.goto(f"{app_url}/class")
    page.locator(".st-key-class-start button").wait_for()
    page.evaluate(FRONT, "/join")
    press(page, "class-start")
    expect(page.locator("#phone header b")).to_contain_text("/?join")
    forget(page)
    store = ClassStore(class_store)
    started = store.start()
    with closing(page.context.new_page()) as phone:
        phone.add_init_script(f"({FRONT})('/class/')")
        phone.goto(f"{app_url}/join/{started.code}?invite={started.invite}")
        phone.wait_for_url(f"**/?join={started.code}*")
        expect(phone.locator("#phone h1")).to_have_text("You are in")
        expect(phone.get_by_test_id("stSidebar")).not_to_be_visible()
        words = ("the", "cat", "it")
        asked = ClassQuestion("token", "Where does it look?", words, (2,), words)
        store.ask(started.code, started.secret, asked, AnswerKey(("cat",), sentence="To “cat”.", weights=(0.1, 0.6, 0.3)))
        phone.locator("button[data-answer=cat]").click()
        phone.locator(".send").click()
        expect(phone.locator(".verdict")).to_have_text("Sent: cat")
        # The same student by another way: a front that gives Streamlit's page for any other address.
        phone.evaluate(
            "address => { history.pushState({}, '', address); history.back(); history.forward(); }",
            f"/join?code={started.code}&invite={started.invite}",
        )
        expect(phone.locator(".verdict")).to_have_text("Sent: cat")
        store.reveal(started.code, started.secret)
        expect(phone.locator(".verdict")).to_have_text("You were right.")
        assert (store.overview(started.code).joined, store.overview(started.code).answered) == (1, 1)
        # A narrow phone shows all twelve heads of a layer.
        rows, columns = tuple(f"L{layer}" for layer in range(6)), tuple(f"H{head}" for head in range(12))
        heads = ClassQuestion("head", "Which head?", rows=rows, columns=columns)
        phone.set_viewport_size({"width": 320, "height": 568})
        store.ask(started.code, started.secret, heads, AnswerKey(("L5·H11",), weights=(0.5,) * 72))
        store.reveal(started.code, started.secret)
        grid = phone.locator(".grid.heads:has(thead)")
        expect(grid).to_be_visible()
        assert grid.evaluate("box => box.scrollWidth <= box.clientWidth")
    store.dispose()


def test_what_a_class_has_written_reaches_its_teacher_while_the_page_stands(page: Page, app_url: str, class_store: str) -> None:
    store = ClassStore(class_store)
    started = store.start()
    page.goto(f"{app_url}/class?class={started.code}&teach={started.code}.{started.invite}.{started.secret}")
    expect(page.locator("#phone .code")).to_be_visible()
    settle(page)
    number = store.ask(started.code, started.secret, ClassQuestion("text", "What do you think?"), AnswerKey())
    store.answer(started.code, store.join(started.code), number, "Two <b>heads</b>.")
    store.reveal(started.code, started.secret)
    page.get_by_text("What was written").click()
    expect(page.get_by_text("Two <b>heads</b>.")).to_be_visible()
    expect(page.get_by_text("1 has written an answer: your teacher has it.")).to_be_visible()
    store.ask(started.code, started.secret, ClassQuestion("text", "And now?"), AnswerKey())
    store.reveal(started.code, started.secret)
    expect(page.get_by_text("Nobody has answered.")).to_be_visible()
    store.dispose()
