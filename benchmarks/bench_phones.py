"""A class of phones: how long from press to acknowledgement, from reveal to the last phone, and whether an answer was lost.

Linux only. Most phones are on the wire, some are Chromium's; the teacher asks the store itself. All of them take processor time
from the server that they measure.
"""

import asyncio
import http.client
import json
import os
import random
import statistics
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Awaitable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from playwright.sync_api import Browser, Page

from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion, StartedClass
from attnviz.lessons.classroom.store import ClassStore
from attnviz.ui.classroom.routes import HEADER
from benchmarks.bench_attack import PUBLIC
from benchmarks.bench_class import sentence
from benchmarks.harness import App, Row, at_most, browsing, none, run, serving
from benchmarks.visitor import Visit, p95

Value = TypeVar("Value")
WORDS = tuple(["The", "trophy", "did", "not", "fit", "in", "the(2)", "suitcase", "because", "it", "was", "too", "big"])
QUESTION = ClassQuestion("token", "Which word does “it” look at most?", WORDS, (9,), WORDS)
KEY = AnswerKey(("trophy",), sentence="“it” gives “trophy” 57 %.", weights=(0.05,) * len(WORDS), link="/encode?text=It")
# In a page: the moment at which its words, a sent answer and the truth are first seen.
SEEN = """
  window.seen = {};
  setInterval(() => {
    const said = document.querySelector(".verdict")?.textContent ?? "";
    if (document.querySelector("[data-answer]")) window.seen.words ??= performance.now();
    if (said.startsWith("Sent:")) window.seen.sent ??= Date.now();
    if (/right|time/.test(said)) window.seen.truth ??= Date.now();
  }, 5);
"""
SLOW = {"offline": False, "latency": 400, "downloadThroughput": 200_000, "uploadThroughput": 200_000}


class WirePhone:
    """A phone without a screen: it joins, listens, and answers when it is told to."""

    def __init__(self, app: App, code: str) -> None:
        self.host, self.port = app.host.split(":")
        self.code = code
        self.token = ""
        self.acknowledged: list[tuple[int, str]] = []
        self.seconds: list[float] = []
        self.revealed: dict[int, float] = {}
        self.errors: list[str] = []

    async def post(self, path: str, body: dict) -> dict:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        data = json.dumps(body).encode()
        head = (
            f"POST /class/{self.code}/{path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n{HEADER}: {self.token}\r\n"
        )
        writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        answered = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        return json.loads(answered)

    async def join(self, invite: str = "") -> str:
        told = await self.post("join", {"invite": invite})
        self.token = told.get("token", "")
        return told.get("error", "")

    async def listen(self) -> None:
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 20)
        writer.write(f"GET /class/{self.code}/stream HTTP/1.1\r\nHost: {self.host}\r\n{HEADER}: {self.token}\r\n\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"data: "):
                view = json.loads(line[6:])["view"]
                if view["state"] == "revealed":
                    self.revealed.setdefault(view["number"], time.time())
                if view["state"] == "ended":
                    break
        else:
            self.errors.append("a stream ended before the class")
        writer.close()

    async def answer(self, number: int, within: float) -> None:
        await asyncio.sleep(random.random() * within)
        begun, answer = time.perf_counter(), random.choice(WORDS)
        told = await self.post("answer", {"number": number, "answer": answer})
        self.seconds.append(time.perf_counter() - begun)
        if told.get("answer") == answer:
            self.acknowledged.append((number, answer))
        else:
            self.errors.append(str(told))


class Screens:
    """Phones in Chromium, one after the other in one thread, as Playwright wants it."""

    def __init__(self, browser: Browser, app: App, code: str, count: int) -> None:
        self.pages: list[Page] = []
        self.seconds: list[float] = []
        for _ in range(count):
            page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
            page.add_init_script(SEEN)
            page.goto(f"{app.url}/join/{code}")
            page.get_by_text("You are in").wait_for()
            self.pages.append(page)

    def answer(self) -> None:
        for page in self.pages:
            page.locator("h1", has_text="Which word").wait_for()
            page.evaluate("window.seen = {}")
            page.locator(f'button[data-answer="{random.choice(WORDS)}"]').click()
            pressed = page.evaluate("(document.querySelector('.send').click(), Date.now())")
            page.locator(".verdict").wait_for()
            page.wait_for_timeout(30)
            self.seconds.append((page.evaluate("window.seen.sent ?? Date.now()") - pressed) / 1000)

    def revealed(self) -> list[float]:
        """Seconds since 1970 at which each phone has drawn the truth."""
        times = []
        for page in self.pages:
            page.locator(".legend").wait_for()
            page.wait_for_timeout(30)
            times.append(page.evaluate("window.seen.truth ?? Date.now()") / 1000)
        return times


def attend(app: App, ends: threading.Event | None, seconds: list[float], seed: int) -> None:
    """Use Encode, with a sentence of one's own every few seconds; without an end, once."""
    draw, visit = random.Random(seed), Visit(app)
    visit.open("encode")
    while ends is None or not ends.is_set():
        seconds.append(visit.open("encode", text=f"{sentence(draw)} {draw.random():.6f}"))
        if ends is None:
            break
        ends.wait(3)
    visit.close()


def first_picture(browser: Browser, app: App, store: ClassStore, phones: int) -> float:
    """Milliseconds until a phone with a slow processor and a slow line shows its first question; the median of some."""
    started = store.start()
    store.ask(started.code, started.secret, QUESTION, KEY)
    times = []
    for _ in range(phones):
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        page.add_init_script(SEEN)
        page.goto(f"{app.url}/join/{started.code}")
        page.locator("[data-answer]").first.wait_for()
        page.wait_for_timeout(100)
        times.append(page.evaluate("window.seen.words"))
        context.close()
    return statistics.median(times)


def flood(app: App, code: str, ends: threading.Event, answered: list[int]) -> None:
    """Send the class requests as fast as the server takes them: forged answers, and wrong codes.

    They come from a network of their own, so that a server which others use too refuses nobody else for five minutes.
    """
    while not ends.is_set():
        connection = http.client.HTTPConnection(app.host, timeout=30, source_address=("127.0.0.2", 0))
        with suppress(OSError, http.client.HTTPException):
            for path, body in ((f"/class/{code}/answer", {"number": 1, "answer": "it"}), ("/class/XXXX/join", {})):
                connection.request("POST", path, json.dumps(body), {HEADER: "forged", "Content-Type": "application/json"})
                reply = connection.getresponse()
                reply.read()
                answered.append(reply.status)
        connection.close()


async def crowd(app: App, store: ClassStore, count: int, length: float) -> tuple[int, list[str]]:
    """Let many scan the code of one class; how many are in, and what the others are told."""
    started = store.start()

    async def come() -> str:
        await asyncio.sleep(random.random() * length)
        return await WirePhone(app, started.code).join(started.invite)

    told = await asyncio.gather(*(come() for _ in range(count)))
    return told.count(""), [each for each in told if each]


def in_thread(work: Coroutine[None, None, Value]) -> Value:
    """Run what waits in a thread of its own: Playwright has this one's loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def lesson(
    store: ClassStore, started: StartedClass, phones: list[WirePhone], screens: Screens, given: Namespace
) -> list[float]:
    """Ask every question; seconds from each reveal to the last phone."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def wait(work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(120)

    async def together(*works: Awaitable[Any]) -> None:
        await asyncio.gather(*works)

    for phone in phones:
        wait(phone.join())
    listening = [asyncio.run_coroutine_threadsafe(phone.listen(), loop) for phone in phones]
    last = []
    for _ in range(given.questions):
        number = store.ask(started.code, started.secret, QUESTION, KEY)
        answering = asyncio.run_coroutine_threadsafe(together(*(phone.answer(number, given.think) for phone in phones)), loop)
        screens.answer()
        answering.result(120)
        time.sleep(0.5)
        begun = time.time()
        store.reveal(started.code, started.secret)
        drawn = screens.revealed()
        deadline = time.time() + 30
        while any(number not in phone.revealed for phone in phones) and time.time() < deadline:
            time.sleep(0.02)
        last.append(max([*drawn, *(phone.revealed.get(number, begun + 30) for phone in phones)]) - begun)
    store.end(started.code, started.secret)
    for each in listening:
        each.result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    return last


def rows(given: Namespace) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        # A server that runs already has the store of its own environment.
        served = os.environ.get("ATTNVIZ_CLASS_STORE") if given.server else None
        address = given.store or served or f"sqlite:///{Path(folder) / 'classes.sqlite'}"
        store = ClassStore(address)
        with (
            serving(given.server, command=PUBLIC, environment={"ATTNVIZ_CLASS_STORE": address}) as app,
            browsing() as browser,
        ):
            yield at_most("first picture, slow phone and line", first_picture(browser, app, store, given.phones) / 1000, 1.0)
            # The model is loaded, as in any lesson after its first minute.
            attend(app, None, [], 2)
            started, ends, encode = store.start(), threading.Event(), []
            others = [threading.Thread(target=attend, args=(app, ends, encode, seed)) for seed in range(2)]
            forged: list[int] = []
            others += [threading.Thread(target=flood, args=(app, started.code, ends, forged)) for _ in range(given.flood)]
            for each in others:
                each.start()
            phones = [WirePhone(app, started.code) for _ in range(given.students - given.screens)]
            screens = Screens(browser, app, started.code, given.screens)
            try:
                last = lesson(store, started, phones, screens, given)
                inside, refused = in_thread(crowd(app, store, given.crowd, given.length))
            finally:
                ends.set()
                for each in others:
                    each.join()
            note = f" ({given.students} phones, {given.screens} in Chromium)"
            seconds = [value for phone in phones for value in phone.seconds]
            yield at_most("press to acknowledgement, p95", p95(seconds), 0.5, note=note)
            yield at_most("press to acknowledgement in Chromium, p95", p95(screens.seconds), 0.5)
            yield at_most("reveal to the last phone, slowest", max(last), 1.5)
            yield at_most("Encode meanwhile, p95 of two", p95(encode), 2.0)
            yield at_most("server's memory at most", app.megabytes("VmHWM"), 1500, "MB")
            kept = store.csv(started.code, started.secret).decode("utf-8-sig").splitlines()[1:]
            acknowledged = sum(len(phone.acknowledged) for phone in phones) + len(screens.seconds)
            yield Row(
                "answers acknowledged and kept", f"{acknowledged}, {len(kept)}", "equal", acknowledged == len(kept), exact=True
            )
            obeyed = [str(status) for status in forged if status < 400]
            yield none(f"of {len(forged):,} forged requests, those that were obeyed", obeyed)
            yield none("what went wrong at a phone", [error for phone in phones for error in phone.errors])
            yield Row(f"{given.crowd} phones join within {given.length:g} s", f"{inside} are in")
            yield none("what else than “full” the others were told", [each for each in refused if "full" not in each])
        store.dispose()


if __name__ == "__main__":
    sizes = {"students": (200, 3), "screens": (30, 1), "questions": (10, 1), "think": (15.0, 0.1), "crowd": (1000, 8)}
    run(rows, minutes=9, sizes={**sizes, "phones": (5, 1), "length": (50.0, 0.1), "store": ("", ""), "flood": (0, 1)})
