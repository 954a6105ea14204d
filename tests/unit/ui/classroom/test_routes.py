"""What phones ask the server for: who may do what, what nobody may do, and what no answer has in it."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from attnviz.core.errors import ClassError
from attnviz.lessons.classroom.class_values import AnswerKey, ClassQuestion, StartedClass, class_report
from attnviz.lessons.classroom.codes_and_nicknames import LENGTH, LETTERS
from attnviz.lessons.classroom.store import ClassStore
from attnviz.ui.classroom import phone_requests, routes
from attnviz.ui.classroom.phone_page import phone_page
from attnviz.ui.classroom.phone_requests import BURST, REFILL, Allowance, WrongCodes
from attnviz.ui.classroom.running_class import MOST_OF_ONE, Hub, class_store

QUESTION = ClassQuestion("token", "Where does it look?", ("the", "cat", "it"), (2,), ("the", "cat", "it"))
KEY = AnswerKey(("cat",), sentence="“it” gives “cat” 57 %.", weights=(0.1, 0.57, 0.33), link="/encode?text=the+cat")
# What only the server knows before the reveal.
SECRETS = ("57", "weights", "/encode", "right")
HOSTILE = (
    "<script>alert(1)</script>", "</script>", "=cmd|'/c calc'!A1",
    "'; DROP TABLE attnviz1_class;--", '"><img src=x onerror=', "\u202e",
)  # fmt: skip
JSON = {"content-type": "application/json"}
TEACHERS = ("ask", "close", "reveal", "end", "csv", "history", "delete", "overview", "../state", "answer/1", "%2e%2e/reveal")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassStore:
    monkeypatch.setenv("ATTNVIZ_CLASS_STORE", f"sqlite:///{tmp_path / 'classes.sqlite'}")
    monkeypatch.setattr(routes, "hub", Hub())
    monkeypatch.setattr(phone_requests, "wrong_codes", WrongCodes(BURST, REFILL))
    return class_store()


@pytest.fixture
def started(store: ClassStore) -> StartedClass:
    return store.start()


@pytest.fixture
def phone(store: ClassStore) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes.ROUTES)) as client:
        yield client


def joined(phone: TestClient, code: str, **more: str) -> dict[str, str]:
    """The header of a student who has joined."""
    return {routes.HEADER: phone.post(f"/class/{code}/join", json=more).json()["token"]}


def test_a_student_joins_answers_once_and_sees_the_truth(phone: TestClient, store: ClassStore, started: StartedClass) -> None:
    own = joined(phone, started.code.lower())
    assert phone.get(f"/class/{started.code}/state", headers=own).json()["view"]["state"] == "waiting"
    store.ask(started.code, started.secret, QUESTION, KEY)
    answer = f"/class/{started.code}/answer"
    received = [
        phone.get(f"/class/{started.code}/state", headers=own),
        phone.post(answer, json={"number": 1, "answer": "cat"}, headers=own),
        phone.post(answer, json={"number": 1, "answer": "cat"}, headers=own),
        phone.post(answer, json={"number": 1, "answer": "the"}, headers=own),
    ]
    assert [each.status_code for each in received] == [200, 200, 200, 409]
    assert not any(secret in each.text for each in received for secret in SECRETS)
    store.reveal(started.code, started.secret)
    told = phone.get(f"/class/{started.code}/state", headers=own).json()
    assert told["own"]["answer"] == "cat"
    assert told["view"]["truth"]["guesses"] == [["cat", 1, True]]
    late = phone.post(answer, json={"number": 1, "answer": "the"}, headers=joined(phone, started.code))
    assert (late.status_code, late.json()["reason"]) == (409, "closed")


@pytest.mark.gate
def test_a_thousand_requests_do_nothing_that_only_the_teacher_may(
    phone: TestClient, store: ClassStore, started: StartedClass
) -> None:
    code, other = started.code, store.start()
    store.ask(code, started.secret, QUESTION, KEY)
    own, theirs = joined(phone, code), joined(phone, other.code)
    before = store.overview(code)
    # A student's token, another class's, and the teacher's own secret where no route looks for it.
    headers = (
        own, theirs, {"attnviz-secret": started.secret}, {routes.HEADER: started.secret},
        {"cookie": f"attnviz-class={code}.{started.invite}.{started.secret}"},
    )  # fmt: skip
    addresses = (f"/class/{code}/", f"/class/{code.lower()}/", f"/class/{code}%2f", f"/class/{other.code}/../{code}/")
    forged = list(itertools.product(addresses, TEACHERS, ("get", "post", "put", "delete", "patch"), headers))
    assert len(forged) >= 1000
    for address, act, method, header in forged:
        answered = getattr(phone, method)(f"{address}{act}", headers=header)
        assert answered.status_code >= 400, (address, act, method)
        assert not any(secret in answered.text for secret in SECRETS)
    assert store.overview(code) == before


def test_forged_and_replayed_requests_change_nothing(phone: TestClient, store: ClassStore, started: StartedClass) -> None:
    store.ask(started.code, started.secret, QUESTION, KEY)
    other = store.start()
    mine, theirs = joined(phone, started.code), joined(phone, other.code)
    answer = f"/class/{started.code}/answer"
    good = {"number": 1, "answer": "cat"}
    texts = ("dog", "", None, 1, ["cat"], "cat" * 30_000, "\ud800")
    broken = (b"{", b"[]", b"\xff", b"[" * 9999)
    forged: list[dict[str, Any]] = [
        *({"json": good, "headers": {routes.HEADER: token}} for token in ("", "x", started.secret, b"\xc3\xa9")),
        {"json": good, "headers": theirs},
        {"json": good, "headers": {**mine, "sec-fetch-site": "cross-site"}},
        # What a form of another site can send without being asked for leave.
        {"content": json.dumps(good), "headers": {**mine, "content-type": "text/plain"}},
        {"data": good, "headers": mine},
        *({"json": {**good, "number": number}, "headers": mine} for number in (0, 2, "1", None, 10**12, 1.5, [1])),
        *({"content": json.dumps({**good, "answer": text}), "headers": {**mine, **JSON}} for text in texts),
        *({"content": data, "headers": {**mine, **JSON}} for data in broken),
    ]
    for each in forged:
        answered = phone.post(answer, **each)
        assert answered.status_code in (403, 409, 422), each
        assert answered.json()["error"].endswith(".")
    assert store.overview(started.code).answered == 0
    # Of a class that is not there and of one that this phone is not in the same is said.
    said = [phone.get(f"/class/{code}/state", headers=mine) for code in ("BCDF", other.code, "nonsense")]
    assert len({(each.status_code, each.text) for each in said}) == 1


def test_ten_thousand_codes_from_one_address_find_nothing(phone: TestClient, store: ClassStore, started: StartedClass) -> None:
    codes = ["".join(letters) for letters in itertools.islice(itertools.permutations(LETTERS, LENGTH), 10_000)]
    # The right one among them, once as many were wrong as may be.
    codes = [each for each in codes if each != started.code]
    codes.insert(5_000, started.code)
    for code in codes:
        assert phone_requests.first_view(code, "192.0.2.7") is None
        with pytest.raises(ClassError) as refused:
            phone_requests.join(code, {}, "192.0.2.7")
        assert refused.value.reason in ("unknown", "wait")
    assert store.overview(started.code).joined == 0
    wrong = [phone.post("/class/BBBB/join", json={}).status_code for _ in range(BURST + 5)]
    assert wrong == [404] * BURST + [429] * 5
    # No right code that nobody here has joined by, until there is room again; the QR code's own word opens at once.
    assert phone.post(f"/class/{started.code}/join", json={}).status_code == 429
    assert phone.post(f"/class/{started.code}/join", json={"invite": "x"}).status_code == 429
    assert phone.post(f"/class/{started.code}/join", json={"invite": started.invite}).status_code == 200
    # From then on the class is known here: others' wrong codes keep nobody out, and other codes stay refused.
    assert phone.post(f"/class/{started.code}/join", json={}).status_code == 200
    assert phone.post("/class/BBBB/join", json={}).status_code == 429


@pytest.mark.gate
def test_a_school_behind_one_address_joins_while_somebody_guesses(
    phone: TestClient, store: ClassStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = store.start()
    # Where a class is started, its code is trusted.
    phone_requests.wrong_codes.trust("testclient", started.code)
    joined = []
    for at in range(200):
        if at % 5 == 0:
            phone.post("/class/BBBB/join", json={})
        joined.append(phone.post(f"/class/{started.code}/join", json={}).status_code)
    assert joined == [200] * 200
    # One who joins again and again ends with its network's allowance, which is less than a class takes.
    monkeypatch.setattr(phone_requests, "joins", Allowance(burst=3, refill=60.0))
    codes = [phone.post(f"/class/{started.code}/join", json={}).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert store.overview(started.code).joined == 203


def test_an_allowance_is_each_networks_own_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    allowance = Allowance(burst=2, refill=10.0)
    assert [allowance.take("192.0.2.7") for _ in range(3)] == [True, True, False]
    assert allowance.take("192.0.2.8")
    now[0] = 10
    assert [allowance.take("192.0.2.7") for _ in range(2)] == [True, False]


def test_wrong_codes_are_counted_by_network_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    codes = WrongCodes(BURST, REFILL)
    for at in range(BURST):
        assert codes.may_type("2001:db8::1", "KRTF")
        codes.count(f"2001:db8::{at}")
    assert not codes.may_type("2001:db8::ffff", "KRTF")
    assert codes.may_type("2001:db8:0:1::1", "KRTF")
    codes.trust("2001:db8::7", "KRTF")
    assert codes.may_type("2001:db8::ffff", "KRTF")
    assert not codes.may_type("2001:db8::ffff", "KRTG")
    assert "2001" not in repr(vars(codes))
    now[0] = 301
    assert codes.may_type("2001:db8::1", "KRTG")


def test_hostile_names_and_answers_are_text(phone: TestClient, store: ClassStore) -> None:
    started = store.start(nicknames=True)
    assert phone.post(f"/class/{started.code}/join", json={}).json()["wants"] == "nickname"
    asked = ClassQuestion("text", "Why? <script>", ())
    store.ask(started.code, started.secret, asked, AnswerKey())
    own: dict[str, str] = {}
    for at in range(40):
        text = f"{HOSTILE[at % len(HOSTILE)]}{at}"
        own = joined(phone, started.code, nickname=text[:20])
        kept = phone.post(f"/class/{started.code}/answer", json={"number": 1, "answer": text}, headers=own)
        assert kept.json() == {"answer": text}
        assert kept.headers["content-type"] == "application/json"
    store.reveal(started.code, started.secret)
    # What others have written stays with the teacher.
    assert phone.get(f"/class/{started.code}/state", headers=own).json()["view"]["truth"]["guesses"] == []
    lines = store.csv(started.code, started.secret).decode("utf-8-sig")
    assert lines.count("\n") == 41
    assert not any(f",{sign}" in lines or f',"{sign}' in lines for sign in "=+-@")
    report = class_report(started.code, store.history(started.code, started.secret)).decode()
    assert report.count("<td dir") == 40
    assert not any(tag in report for tag in ("<script", "<img", "</script"))
    assert phone.post(f"/class/{started.code}/join", json={"nickname": "Hitler"}).status_code == 422


def test_the_page_is_one_light_answer(phone: TestClient, store: ClassStore, started: StartedClass) -> None:
    page = phone.get("/join/KRTF").text
    assert page == phone.get("/join").text == phone_page()
    # What is asked comes with the page, and cannot end the script that it stands in.
    store.ask(started.code, started.secret, ClassQuestion("text", "</script><script>alert(1)"), KEY)
    asked = phone.get(f"/join?code={started.code}").text
    assert asked == phone.get(f"/join/{started.code}").text
    assert "alert(1)" in asked
    assert asked.count("<script") == page.count("<script")
    assert not any(secret in asked.partition('id="view"')[2].partition("</script>")[0] for secret in SECRETS)
    assert len(page.encode()) < 150_000
    # A namespace is a name, and no address.
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert "import " not in page.partition("<script")[2]


def test_whoever_comes_when_the_last_has_gone_is_told_nothing_of_before(store: ClassStore, started: StartedClass) -> None:
    async def first() -> str:
        hub, student = Hub(), store.student(started.code, store.join(started.code)).id
        # The view that was on its way to a phone that has left.
        hub._tell(started.code, 7, "before")
        stream = hub.listen(started.code, student, 8)
        told = await anext(stream)
        hub.close()
        return told

    assert json.loads(asyncio.run(asyncio.wait_for(first(), 20)))["view"]["state"] == "waiting"


def test_a_listener_hears_what_another_copy_of_the_app_changes(store: ClassStore, started: StartedClass) -> None:
    async def listen() -> list[dict[str, Any]]:
        hub, heard = Hub(), []
        student = store.student(started.code, store.join(started.code)).id
        other = ClassStore(str(store._reads.url))
        teacher = iter([lambda: other.ask(*opened, QUESTION, KEY), lambda: other.reveal(*opened), lambda: other.end(*opened)])
        async for told in hub.listen(started.code, student, 0):
            if told:
                heard.append(json.loads(told)["view"])
                if (act := next(teacher, None)) is None:
                    hub.close()
                else:
                    act()
        # A phone that comes back while the server stops is not listened to: the server would wait for it.
        assert [told async for told in hub.listen(started.code, student, 0)] == []
        other.dispose()
        return heard

    opened = (started.code, started.secret)
    heard = asyncio.run(asyncio.wait_for(listen(), 20))
    assert [each["state"] for each in heard] == ["waiting", "open", "revealed", "ended"]
    assert not any(secret in json.dumps(heard[1]) for secret in SECRETS)


def test_one_student_takes_no_stream_of_the_others(phone: TestClient, store: ClassStore, started: StartedClass) -> None:
    token = store.join(started.code)
    one = store.student(started.code, token).id

    async def open_some() -> bool:
        hub = routes.hub
        streams = [hub.listen(started.code, one, -1) for _ in range(MOST_OF_ONE)]
        for each in streams:
            assert not hub.has_enough(one)
            await anext(each)
        refused = await asyncio.to_thread(phone.get, f"/class/{started.code}/stream", headers={routes.HEADER: token})
        assert (refused.status_code, "asks every few seconds" in refused.json()["error"]) == (503, True)
        for each in streams:
            await each.aclose()
        return hub.has_enough(one)

    assert not asyncio.run(asyncio.wait_for(open_some(), 20))
