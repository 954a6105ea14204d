"""What stands before the app: every answer tells the browser what it may not do, and what would change the app is not heard."""

import asyncio
import gc
import resource
import socket
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from streamlit.proto.BackMsg_pb2 import BackMsg

from attnviz.core.errors import SettingError
from attnviz.figures import bertviz_views as bertviz
from attnviz.settings import app_folder
from attnviz.ui import server
from attnviz.ui.server import MIDDLEWARE, FirstPaint, MessageFilter, MovedPages, SecurityHeaders, _hash, policy


async def answered(scope: dict[str, Any], send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"the app"})


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await answered(scope, send)


def ask(door: Any, *, host: str = "localhost", kind: str = "http", accept: str = "*/*") -> list[dict[str, Any]]:
    """All that comes back for a request under a name."""
    said: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    headers = [(b"host", host.encode("latin-1")), (b"accept", accept.encode()), (b"accept-encoding", b"gzip")]
    scope = {"type": kind, "method": "GET", "path": "/", "headers": headers}
    asyncio.run(door(scope, receive, send))
    return said


def test_every_answer_tells_the_browser_what_it_may_not_do() -> None:
    headers = {name.decode(): value.decode() for name, value in ask(SecurityHeaders(app))[0]["headers"]}
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    assert rules["connect-src"] == rules["frame-ancestors"] == "'self'"
    assert {source for rule in rules.values() for source in rule.split() if "." in source or ":" in source} == {
        "data:",
        "blob:",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"


def test_a_page_brings_its_style_and_nothing_else_is_changed() -> None:
    given: list[Any] = []

    def answering(media_type: bytes) -> Any:
        async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
            given.append(dict(scope["headers"]))
            headers = [(b"content-type", media_type), (b"content-length", b"26"), (b"etag", b'"x"')]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"<head></he", "more_body": True})
            await send({"type": "http.response.body", "body": b"ad><body></body>"})

        return app

    start, body = ask(FirstPaint(answering(b"text/html; charset=utf-8"), style="b {}"), accept="text/html")
    assert body["body"] == b"<head><style>b {}</style></head><body></body>"
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    assert b"etag" not in dict(start["headers"])
    # A compressed page could not be added to.
    assert b"accept-encoding" not in given[0]

    script = ask(FirstPaint(answering(b"text/javascript"), style="b {}"), accept="*/*")
    assert b"".join(part["body"] for part in script[1:]) == b"<head></head><body></body>"
    assert b"accept-encoding" in given[1]


def test_the_scripts_that_are_known_are_all_there_are() -> None:
    assert len(bertviz.scripts()) == 5
    assert all(_hash(script) in policy() for script in bertviz.scripts())
    assert _hash("alert(1)") not in policy()


@pytest.mark.parametrize(
    "host", ["localhost:8501", "LOCALHOST", "192.168.1.5:80", "[::1]:8501", "school.example.", "School.example:80"]
)
def test_a_name_that_the_app_goes_by_is_answered(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_HOSTS", "school.example")
    assert ask(server.HostCheck(app), host=host)[0]["status"] == 200


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "localhost.evil.example", "x@evil.example", "school.example", "[", "evil.example:99999999", "\xff"],
)
def test_another_name_is_refused(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNVIZ_HOSTS", raising=False)
    door = server.HostCheck(app)
    start, body = ask(door, host=host)
    assert start["status"] == 421
    assert b"ATTNVIZ_HOSTS" in body["body"]
    assert ask(door, host=host, kind="websocket") == [{"type": "websocket.close", "code": 1008}]


def test_on_streamlit_cloud_any_name_is_answered_unless_names_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNVIZ_HOSTS", raising=False)
    monkeypatch.setattr(server, "app_folder", lambda: server.CLOUD / "attnviz")
    assert ask(server.HostCheck(app), host="attention.streamlit.app")[0]["status"] == 200
    monkeypatch.setenv("ATTNVIZ_HOSTS", "attention.streamlit.app")
    assert ask(server.HostCheck(app), host="evil.example")[0]["status"] == 421


@pytest.mark.parametrize(
    ("path", "query", "location"),
    [
        ("/ablate", b"passage=%D9%85+a%26b&layer=3", "whatif?change=head&passage=%D9%85+a%26b&layer=3"),
        ("/below/compare", b"text=a%2Fb&other=c&edits=e0.2z", "whatif?text=a%2Fb&other=c&edits=e0.2z"),
        ("/compare", b"", "whatif"),
        ("/encode", b"text=a%2Fb&other=c&layer=3", "whatif?text=a%2Fb&other=c&layer=3"),
        ("/encode", b"text=other%3D&other=", None),
        ("/whatif", b"change=head", None),
        ("/ablate/_stcore/health", b"", None),
    ],
)  # fmt: skip
def test_an_address_of_a_page_that_moved_leads_to_where_it_is(path: str, query: bytes, location: str | None) -> None:
    started: list[Any] = []

    async def send(message: Any) -> None:
        started.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
    asyncio.run(MovedPages(app)(scope, receive, send))
    assert dict(started[0]["headers"]).get(b"location") == (location and location.encode())


def test_only_what_changes_nothing_for_others_is_heard() -> None:
    sent = [BackMsg(clear_cache=True), BackMsg(set_run_on_save=True), BackMsg(load_git_info=True), BackMsg(stop_script=True)]
    waiting = [{"type": "websocket.receive", "bytes": message.SerializeToString()} for message in sent]
    waiting += [{"type": "websocket.receive", "bytes": b"\xff\xff"}, {"type": "websocket.receive", "text": "words"}]
    waiting += [{"type": "websocket.disconnect"}]
    assert hear(waiting) == waiting[3:]


def hear(waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What of these messages comes through."""
    waiting, heard = [*waiting], []

    async def listens(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while not heard or heard[-1]["type"] != "websocket.disconnect":
            heard.append(await receive())

    async def receive() -> dict[str, Any]:
        return waiting.pop(0)

    asyncio.run(MessageFilter(listens)({"type": "websocket"}, receive, lambda message: None))
    return heard


def typed(*texts: str, query: str = "") -> dict[str, Any]:
    message = BackMsg()
    message.rerun_script.query_string = query
    for text in texts:
        message.rerun_script.widget_states.widgets.add(id="typed", string_value=text)
    return {"type": "websocket.receive", "bytes": message.SerializeToString()}


def test_no_text_of_a_message_is_longer_than_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MAX_CHARACTERS", "61")
    last = {"type": "websocket.disconnect"}
    # One that is cut is still longer than is read, so that the page says so.
    assert hear([typed("ß" * 61, "x" * 997), last]) == [typed("ß" * 61, "x" * 62), last]
    assert hear([typed("x", query="q" * 70_001), typed("x", query="q" * 997), last]) == [
        typed("x"),
        typed("x", query="q" * 997),
        last,
    ]
    # Nor may many texts, or other values, be as long together.
    assert hear([typed(*["x" * 61] * 53), {"type": "websocket.receive", "bytes": b"\xff" * 997}, last]) == [last]


def read_until(connection: socket.socket, end: bytes) -> None:
    read = b""
    while not read.endswith(end):
        more = connection.recv(999)
        assert more
        read += more


def test_a_connection_that_asks_for_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "lifespan=closing_silent_connections" in (app_folder() / "app.py").read_text(encoding="utf-8")
    monkeypatch.setattr(server, "PATIENCE", 0.2)

    async def slow(request: Any) -> PlainTextResponse:
        await asyncio.sleep(0.9)
        return PlainTextResponse("at last")

    routes = [Route("/slow", slow), Route("/", PlainTextResponse("at once"))]
    listener = socket.create_server(("127.0.0.1", 0))
    # What begins with the app goes through all that stands before it.
    app = Starlette(routes=routes, middleware=MIDDLEWARE, lifespan=server.closing_silent_connections)
    serving = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_level="error", timeout_keep_alive=60))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
    thread.start()
    head = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n"
    begun = {"nothing": b"", "half": head % b"", "half of the second": head % b"" + b"\r\n", "slow": head % b"slow" + b"\r\n"}
    sockets = {name: socket.create_connection(listener.getsockname(), timeout=5) for name in begun}
    try:
        for name, sent in begun.items():
            sockets[name].sendall(sent)
        second = sockets["half of the second"]
        read_until(second, b"at once")
        # One that waits for its next request stays as long as uvicorn says.
        time.sleep(0.6)
        second.sendall(begun["half of the second"])
        read_until(second, b"at once")
        second.sendall(head % b"")
        read_until(sockets["slow"], b"at last")
        assert {name: each.recv(1) for name, each in sockets.items() if name != "slow"} == dict.fromkeys([*begun][:3], b"")
    finally:
        serving.should_exit = True
        thread.join()
        for each in (*sockets.values(), listener):
            each.close()


def test_a_system_that_gives_fewer_descriptors_than_it_says_is_asked_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert server._raise_descriptors() == 256


def test_a_body_that_never_comes_and_a_crowd_of_one_network_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.2)
    monkeypatch.setattr(server, "_raise_descriptors", lambda: 10)
    # Else this machine, where the health check is, may open as many as it likes.
    monkeypatch.setattr(server, "_is_trusted", lambda network: False)

    async def length(request: Any) -> PlainTextResponse:
        return PlainTextResponse(str(len(await request.body())))

    routes = [Route("/body", length, methods=["POST"])]
    listener = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=routes, lifespan=server.closing_silent_connections)
    serving = uvicorn.Server(uvicorn.Config(app, lifespan="on", log_level="error", timeout_keep_alive=60))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
    thread.start()
    head = b"POST /body HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n"
    sockets = [socket.create_connection(listener.getsockname(), timeout=20) for _ in range(5)]
    try:
        for each in sockets:
            each.sendall(head)
        sockets[0].sendall(b"abc")
        read_until(sockets[0], b"3")
        # Half of ten descriptors are taken: the sixth connection of this network ends at once.
        with socket.create_connection(listener.getsockname(), timeout=20) as sixth:
            assert ended(sixth)
        assert all(ended(each) for each in sockets[1:])
        # There is room again.
        with socket.create_connection(listener.getsockname(), timeout=20) as later:
            later.sendall(head + b"abc")
            read_until(later, b"3")
    finally:
        serving.should_exit = True
        thread.join()
        for each in (*sockets, listener):
            each.close()


class Transport:
    """A connection from an address."""

    def __init__(self, address: str) -> None:
        self.address, self.is_aborted = address, False

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return self.address, 50_000

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True


def test_the_addresses_of_a_house_are_one_network_and_nothing_is_kept_of_who_has_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_raise_descriptors", lambda: 4)
    monkeypatch.setattr(server.AutoHTTPProtocol, "connection_made", lambda *_: None)
    connection = SimpleNamespace(loop=SimpleNamespace(call_later=lambda *_: None))

    def sets() -> int:
        return sum(isinstance(each, WeakSet) for each in gc.get_objects())

    async def connect() -> None:
        async with server.closing_silent_connections(None):
            made = server.AutoHTTPProtocol.connection_made
            house = [Transport(f"2001:db8:1:2::{place}") for place in range(1, 4)]
            for each in (*house, Transport("2001:db8:1:3::1")):
                made(connection, each)
            assert [each.is_aborted for each in house] == [False, False, True]
            before = sets()
            for place in range(100):
                made(connection, Transport(f"198.51.100.{place}"))
            assert sets() < before + 10

    asyncio.run(connect())


def ended(connection: socket.socket) -> bool:
    """Wait until the other side closes or resets a connection, with nothing said."""
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


@pytest.mark.parametrize(
    ("length", "seconds"), [(b"", 20), (b"-5", 20), (b"5000000", 40), (b"9" * 40, 20 + 64 * 2**20 / 250_000)]
)
def test_a_body_is_waited_for_by_its_length_and_never_longer_than_the_largest(length: bytes, seconds: float) -> None:
    cycle = SimpleNamespace(scope={"headers": [(b"content-length", length)]})
    assert server._body_seconds(cycle) == pytest.approx(seconds)


def test_only_sites_that_are_named_may_frame_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    def framing() -> tuple[str, str | None]:
        headers = {name.decode(): value.decode() for name, value in ask(SecurityHeaders(app))[0]["headers"]}
        (rule,) = (rule for rule in headers["content-security-policy"].split("; ") if rule.startswith("frame-ancestors"))
        return rule, headers.get("x-frame-options")

    assert framing() == ("frame-ancestors 'self'", "SAMEORIGIN")
    monkeypatch.setenv("ATTNVIZ_FRAME_SITES", "https://moodle.school.example, https://*.hf.space")
    assert framing() == ("frame-ancestors 'self' https://moodle.school.example https://*.hf.space", None)
    for site in ("*", "moodle.school.example", "https://a.example;script-src", "https://a.example/page", "https://"):
        monkeypatch.setenv("ATTNVIZ_FRAME_SITES", site)
        with pytest.raises(SettingError, match="ATTNVIZ_FRAME_SITES lists sites"):
            SecurityHeaders(app)
