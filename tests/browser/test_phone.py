"""A student's phone: it joins, answers every kind of question, sleeps, loses its line and its server, and has lost nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion, StartedClass
from attnviz.lessons.classroom.store import ClassStore
from tests.browser.harness import PATIENCE, ROOT, free_port
from tests.browser.pages import serious

WORDS = ("[CLS]", "the", "<b>cat</b>", "it", "[SEP]")
LINK = "/encode?text=the+cat"
TOKEN = ClassQuestion("token", "Where does <i>it</i> look?", WORDS, (3,), WORDS[1:-1])
KEY = AnswerKey(("<b>cat</b>",), sentence="“it” gives “cat” 57 %.", weights=(0.1, 0.2, 0.57, 0.1, 0.03), link=LINK)
GRID = ClassQuestion("cell", "Which link is the strongest?", rows=WORDS[1:-1], columns=WORDS[1:-1])
SERVER = """
import sys, uvicorn
from starlette.applications import Starlette
from attnviz.ui.classroom.routes import ROUTES
uvicorn.run(Starlette(routes=ROUTES), host="localhost", port=int(sys.argv[1]))
"""
# A question, what is tapped for an answer, the answer, and one that is right.
KINDS = {
    "token": (TOKEN, ["the"], "the", KEY),
    "cell": (GRID, ["it", "the"], "it → the", AnswerKey(("it → the",), weights=(0.1,) * 9)),
    "head": (
        ClassQuestion("head", "Which head?", WORDS, (3, 2), rows=("L0", "L1"), columns=("H0", "H1")),
        ["L1·H0"], "L1·H0", AnswerKey(("L0·H1",), weights=(0.1, 0.9, 0.3, 0.2)),
    ),
    "choice": (ClassQuestion("choice", "True?", choices=("True", "False")), ["False"], "False", AnswerKey(("False",))),
    "order": (
        ClassQuestion("order", "In order?", choices=("a", "b", "c")), ["c", "a", "b"], "c > a > b", AnswerKey(("a > b > c",)),
    ),
}  # fmt: skip


@pytest.fixture
def store(class_store: str) -> ClassStore:
    """The store of the app that is served."""
    return ClassStore(class_store)


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 320, "height": 568}, has_touch=True, color_scheme="dark") as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        # What the browser logs of a line that is down is no fault of the page.
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on("console", lambda said: errors.extend([said.text] if "Failed to load" not in said.text else []))
        yield page
        assert errors == []


def join(phone: Page, url: str, started: StartedClass) -> None:
    phone.goto(f"{url}/join/{started.code}")
    expect(phone.get_by_text("You are in")).to_be_visible()


def tap(phone: Page, kind: str, names: list[str]) -> None:
    for at, name in enumerate(names):
        group = phone.locator(".question-form .line").nth(at) if kind == "cell" else phone.locator("#phone")
        group.locator(f'button[data-answer="{name}"]').tap()


def ask(phone: Page, store: ClassStore, started: StartedClass, question: ClassQuestion, key: AnswerKey) -> None:
    store.ask(started.code, started.secret, question, key)
    expect(phone.locator("h1")).to_have_text(question.ask)


def test_every_kind_of_question_at_320_pixels_in_the_dark(phone: Page, app_url: str, store: ClassStore) -> None:
    started = store.start()
    join(phone, app_url, started)
    shown = []
    for kind, (question, names, answer, key) in KINDS.items():
        ask(phone, store, started, question, key)
        expect(phone.get_by_role("button", name="Send")).to_be_disabled()
        tap(phone, kind, names)
        shown += serious(phone, "dark")
        phone.get_by_role("button", name="Send").tap()
        expect(phone.locator(".verdict")).to_have_text(f"Sent: {answer}")
        store.reveal(started.code, started.secret)
        expect(phone.locator(".verdict")).to_have_text("You were right." if answer in key.right else "Not this time.")
        # What may not fit scrolls within its own frame.
        assert phone.evaluate("document.documentElement.scrollWidth") == 320
        shown += serious(phone, "dark")
    assert shown == []
    ask(phone, store, started, ClassQuestion("number", "How much?", WORDS, (3, 2)), AnswerKey(("0.57",), 0.1, link=LINK))
    phone.get_by_role("slider").fill("52")
    phone.get_by_role("button", name="Send").tap()
    expect(phone.locator(".verdict")).to_have_text("Sent: 52\N{NO-BREAK SPACE}%")
    store.reveal(started.code, started.secret)
    expect(phone.get_by_role("link")).to_have_attribute("href", LINK)
    assert [each.results[0].answer for each in store.history(started.code, started.secret)][-1] == "0.52"


def test_a_phone_that_reloads_or_loses_its_line_is_the_same_student(phone: Page, app_url: str, store: ClassStore) -> None:
    started = store.start()
    join(phone, app_url, started)
    ask(phone, store, started, TOKEN, KEY)
    phone.reload()
    tap(phone, "token", ["the"])
    phone.route("**/answer", lambda route: route.abort())
    phone.get_by_role("button", name="Send").tap()
    expect(phone.get_by_text("Sending: the")).to_be_visible()
    # Written down before it is sent: a phone that is switched off meanwhile sends it when it wakes.
    phone.unroute("**/answer")
    phone.reload()
    expect(phone.get_by_text("Sent: the")).to_be_visible()
    assert (store.overview(started.code).joined, store.overview(started.code).answered) == (1, 1)
    # News that were written before the answer came, and arrive after it, take nothing back.
    older = phone.evaluate("code => JSON.parse(localStorage.getItem(`attnviz-class-${code}`)).own", started.code)
    state = {"view": store.overview(started.code).for_phones(), "own": {**older, "answer": None}}
    phone.route(
        "**/stream", lambda route: route.fulfill(body=f"data: {json.dumps(state)}\n\n", content_type="text/event-stream")
    )
    with phone.expect_event("requestfinished", lambda request: request.url.endswith("/stream")):
        phone.reload()
    phone.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(phone.get_by_text("Sent: the")).to_be_visible()
    phone.unroute("**/stream")
    # Where nothing streams, the phone asks.
    phone.route("**/stream", lambda route: route.abort())
    phone.reload()
    expect(phone.get_by_text("Sent: the")).to_be_visible()
    store.reveal(started.code, started.secret)
    expect(phone.get_by_text("Not this time.")).to_be_visible()
    store.end(started.code, started.secret)
    expect(phone.get_by_text("The class has ended")).to_be_visible()


def test_a_class_goes_on_when_its_server_is_killed_and_begun_again(phone: Page, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'classes.sqlite'}"
    store, port = ClassStore(address), free_port()
    started = store.start()
    server = serve(port, address, tmp_path)
    join(phone, f"http://localhost:{port}", started)
    ask(phone, store, started, TOKEN, KEY)
    server.kill()
    server.wait()
    tap(phone, "token", ["the"])
    phone.get_by_role("button", name="Send").tap()
    expect(phone.get_by_text("No connection.")).to_be_visible()
    server = serve(port, address, tmp_path)
    expect(phone.get_by_text("Sent: the")).to_be_visible()
    store.reveal(started.code, started.secret)
    expect(phone.get_by_text("Not this time.")).to_be_visible()
    # A server that is told to stop does not wait for phones that listen.
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) in (0, -signal.SIGTERM)


def serve(port: int, store: str, folder: Path) -> subprocess.Popen:
    """Serve the routes of phones alone, which is quicker than all of the app, until they answer."""
    with (folder / "log.txt").open("a") as log:
        environment = {**os.environ, "ATTNVIZ_CLASS_STORE": store}
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)], cwd=ROOT, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + 60
    while True:
        try:
            with socket.create_connection(("localhost", port)):
                return server
        except OSError:
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
