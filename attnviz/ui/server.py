"""The app's server around Streamlit: headers, hosts, messages, moved pages and the style of the first paint."""

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from streamlit.proto.BackMsg_pb2 import BackMsg
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from attnviz import settings
from attnviz.figures import bertviz_views as bertviz
from attnviz.pages_and_addresses import current_address
from attnviz.settings import app_folder
from attnviz.ui.classroom.phone_page import phone_script
from attnviz.ui.classroom.phone_requests import network_of
from attnviz.ui.frame.toolbar import STYLE


class FirstPaint:
    """Gives the page its style before Streamlit's script runs: what is drawn first stands where it stays."""

    def __init__(self, app: Any, style: str) -> None:
        self._app = app
        self._style = f"<style>{style}</style></head>".encode()

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        start: Any = None
        page = b""

        async def tell(message: Any) -> None:
            nonlocal start, page
            if message["type"] == "http.response.start" and _is_page(message):
                start = message
            elif start is None or message["type"] != "http.response.body":
                await send(message)
            else:
                page += message.get("body", b"")
                if not message.get("more_body"):
                    page = page.replace(b"</head>", self._style, 1)
                    headers = MutableHeaders(scope=start)
                    headers["Content-Length"] = str(len(page))
                    # They are of Streamlit's page, whichever style that is given.
                    for name in ("ETag", "Last-Modified"):
                        del headers[name]
                    await send(start)
                    await send({**message, "body": page})

        # A phone's page is none of Streamlit's.
        is_phone = scope.get("path", "").startswith("/join")
        await (self._app(scope, receive, send) if is_phone else self._app(_uncompressed(scope), receive, tell))


def _uncompressed(scope: Any) -> Any:
    """Drop what encodings a request for a page accepts, so that the page is sent as it is."""
    if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
        return scope
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]}


def _is_page(start: Any) -> bool:
    headers = MutableHeaders(scope=start)
    is_html = headers.get("content-type", "").startswith("text/html")
    return start["status"] == 200 and is_html and "content-encoding" not in headers


# Where Streamlit Cloud lays an app's repository.
CLOUD = Path("/mount/src")
_UNKNOWN = (
    "This app does not answer to the name that your browser asked for: open it by its number address, or tell whoever runs it "
    "to list the name in ATTNVIZ_HOSTS.\n"
)


class HostCheck:
    """Refuses a request for a name that the app does not go by: a page elsewhere may have had its own name lead here."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        if scope["type"] == "http" and not _is_known(Headers(scope=scope).get("host", "")):
            await PlainTextResponse(_UNKNOWN, status_code=421)(scope, receive, send)
        elif scope["type"] == "websocket" and not _is_known(Headers(scope=scope).get("host", "")):
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)


def _is_known(host: str) -> bool:
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return name in own_names() or _is_number(name) or _is_on_streamlit_cloud()


def _is_number(name: str) -> bool:
    """Say whether a name is an address of the network itself, which nobody can make lead elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_on_streamlit_cloud() -> bool:
    """Tell whether Streamlit's own front stands before the app, and decides which names lead to it."""
    return CLOUD in app_folder().parents and settings.names("ATTNVIZ_HOSTS") is None


def own_names() -> set[str]:
    """List what the app answers to, besides numbers: this machine's names, and those of ATTNVIZ_HOSTS.

    Read at every request: Streamlit Cloud sets what stands among an app's secrets only when the server has started.
    """
    machine = socket.gethostname().casefold()
    listed = (name.casefold() for name in settings.names("ATTNVIZ_HOSTS") or ())
    return {"localhost", machine, f"{machine.partition('.')[0]}.local", *listed}


# What Streamlit offers its developer in a menu, and would do for everybody who sends it: one clears all that is kept for all.
REFUSED = ("clear_cache", "set_run_on_save", "load_git_info")
# Characters; browsers and proxies take no longer address.
LONGEST_QUERY = 65_536
# So many times the longest text, in bytes, may one message have: no page has as many boxes.
MOST_TEXTS = 32


class MessageFilter:
    """Lets nothing of a visitor's through that would change the app for others, and no more text than is read here."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        async def heard() -> Any:
            while True:
                message = await receive()
                sent = message.get("bytes") if message["type"] == "websocket.receive" else None
                if sent is None or (kept := _bounded(sent)) == sent:
                    return message
                if kept is not None:
                    return {**message, "bytes": kept}

        await self._app(scope, heard if scope["type"] == "websocket" else receive, send)


def _bounded(message: bytes) -> bytes | None:
    """Cut every text of a visitor's message one character above what is read here; None where the message is refused.

    A page says of a text that is one character too long that it is too long (`attnviz.ui.visitor_limits.check_length`).
    """
    limit = settings.limit("ATTNVIZ_MAX_CHARACTERS")
    try:
        read = BackMsg.FromString(message)
    except Exception:  # protobuf raises an error of its own; Streamlit says what it makes of such a message
        return message if len(message) <= limit else None
    if read.WhichOneof("type") in REFUSED:
        return None
    # No text has more characters than its message has bytes.
    if len(message) <= limit:
        return message
    state = read.rerun_script
    state.query_string = "" if len(state.query_string) > LONGEST_QUERY else state.query_string
    for widget in state.widget_states.widgets:
        if widget.WhichOneof("value") == "string_value":
            widget.string_value = widget.string_value[: limit + 1]
    bounded = read.SerializeToString()
    return bounded if len(bounded) <= MOST_TEXTS * limit else None


class MovedPages:
    """Sends a browser that asks for a page of an older version to where that is now, with all its parameters."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        if scope["type"] == "http":
            page, query = scope["path"].rpartition("/")[2], scope.get("query_string", b"").decode("latin-1")
            address = f"{page}?{query}"
            if (current := current_address(address)) != address:
                # Relative: a proxy may have the app below a folder of its own.
                await RedirectResponse(current)(scope, receive, send)
                return
        await self._app(scope, receive, send)


_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def policy() -> str:
    """Write the Content-Security-Policy of every answer: nothing comes from elsewhere, and no script runs but the app's."""
    page = (Path(streamlit.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    # A frame that is made on the page lives under the page's policy: so the scripts of BertViz's are known as well.
    scripts = " ".join(sorted(map(_hash, {*_INLINE.findall(page), *bertviz.scripts(), phone_script()})))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' blob: {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "media-src 'self'",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'self'",
            "manifest-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            " ".join(["frame-ancestors 'self'", *settings.sites("ATTNVIZ_FRAME_SITES")]),
        ]
    )


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


class SecurityHeaders:
    """Tells the browser, with every answer, what it may not do with it."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": policy(),
            "X-Content-Type-Options": "nosniff",
            # What a person typed stands in the address.
            "Referrer-Policy": "same-origin",
        }
        # It can name no other site: where one may frame the app, the policy alone says which.
        if not settings.sites("ATTNVIZ_FRAME_SITES"):
            self._headers["X-Frame-Options"] = "SAMEORIGIN"

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        async def tell(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, tell)


# Seconds in which all of a request's head has to be there; its body may take as many, and a second more for so many bytes.
PATIENCE, BYTES_A_SECOND = 20.0, 250_000
# No page takes a larger file (maxUploadSize in .streamlit/config.toml), so none is waited for longer.
LARGEST = 64 * 2**20
# Of the descriptors that the process may open, the share that the connections of one network may take.
SHARE = 0.5
# Where no limit of descriptors can be read.
DESCRIPTORS = 1024


@asynccontextmanager
async def closing_silent_connections(app: Any) -> AsyncIterator[None]:
    """Give each connection that is made while the app runs some seconds for a request, and each network its share of them.

    A proxy that uvicorn trusts (FORWARDED_ALLOW_IPS) stands for many networks, and has all it wants.
    """
    protocol: Any = AutoHTTPProtocol
    made = protocol.connection_made
    most = int(_raise_descriptors() * SHARE)
    # A WebSocket goes on in another protocol: whether a connection is still there, its transport knows.
    of_networks: dict[str, WeakSet[Any]] = {}

    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        address = _address(transport.get_extra_info("peername"))
        network = network_of(address)
        if network not in of_networks:
            # Of those that have gone nothing is kept.
            for gone in [name for name, kept in of_networks.items() if not kept]:
                del of_networks[gone]
        transports = of_networks.setdefault(network, WeakSet())
        transports.add(transport)
        if len(transports) > most and not _is_trusted(address) and sum(not each.is_closing() for each in transports) > most:
            transport.abort()
            return
        self.loop.call_later(PATIENCE, _close_if_silent, self)

    protocol.connection_made = connection_made
    try:
        yield
    finally:
        protocol.connection_made = made


def _raise_descriptors() -> int:
    """Let the process open as many files and connections as the system allows it, and tell how many these are."""
    try:
        import resource
    except ImportError:
        return DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    # A system may give fewer than it says, such as macOS.
    with suppress(ValueError, OSError):
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _address(peer: Any) -> str:
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def _is_trusted(address: str) -> bool:
    """Say whether a connection comes from a proxy, or from this very machine, where the health check is."""
    trusted = settings.names("FORWARDED_ALLOW_IPS") or ()
    try:
        is_here = ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_here = True
    return is_here or "*" in trusted or address in trusted


def _close_if_silent(connection: Any, was_silent: bool = True, waited: float = 0.0) -> None:
    """Close a connection that has had no request for as long as this, or whose request's body is late.

    A WebSocket is not looked after.
    """
    if connection not in connection.connections:
        return
    cycle = connection.cycle
    is_answered = cycle is None or cycle.response_complete
    # As long as uvicorn's own timer runs, nothing of a further request is there.
    is_silent = is_answered and connection.timeout_keep_alive_task is None
    waited = waited + PATIENCE / 2 if not is_answered and cycle.more_body else 0.0
    if is_silent and was_silent:
        connection.transport.close()
    elif waited > _body_seconds(cycle):
        connection.transport.abort()
    else:
        connection.loop.call_later(PATIENCE / 2, _close_if_silent, connection, is_silent, waited)


def _body_seconds(cycle: Any) -> float:
    """Return how long the body of a request may take, by the length that its head tells."""
    if cycle is None:
        return PATIENCE
    length = dict(cycle.scope["headers"]).get(b"content-length", b"0")
    return PATIENCE + min(int(length) if length.isdigit() else 0, LARGEST) / BYTES_A_SECOND


# What Streamlit runs.
SCRIPT = Path(__file__).parent / "frame" / "router.py"
MIDDLEWARE = [
    Middleware(SecurityHeaders),
    Middleware(FirstPaint, style=STYLE),
    Middleware(HostCheck),
    Middleware(MovedPages),
    Middleware(MessageFilter),
]
