"""The app as it is served: what each answer tells the browser, the names it goes by, and what a visitor may ask of it.

`app.py` puts all of it before Streamlit.
"""

import base64
import hashlib
import ipaddress
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse, RedirectResponse
from streamlit.proto.BackMsg_pb2 import BackMsg

from attnviz import settings
from attnviz.figures.bertviz import views as bertviz
from attnviz.paths import app_folder
from attnviz.text.old_addresses import current_address
from attnviz.ui.classroom.phone_page import phone_script
from attnviz.ui.frame.style import STYLE

# What Streamlit offers its developer in a menu, and would do for everybody who sends it: one clears all that is kept for all.
REFUSED = ("clear_cache", "set_run_on_save", "load_git_info")
# Characters; browsers and proxies take no longer address.
LONGEST_QUERY = 65_536
# So many times the longest text, in bytes, may one message have: no page has as many boxes.
MOST_TEXTS = 32
# Where Streamlit Cloud lays an app's repository.
CLOUD = Path("/mount/src")
SCRIPT = Path(__file__).parent / "frame" / "router.py"
_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_UNKNOWN = (
    "This app does not answer to the name that your browser asked for: open it by its number address, or tell whoever runs it "
    "to list the name in ATTNVIZ_HOSTS.\n"
)


def policy() -> str:
    """The Content-Security-Policy of every answer: nothing is fetched from anywhere else, and no script runs but the app's."""
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
            "frame-ancestors 'self'",
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
            "X-Frame-Options": "SAMEORIGIN",
            # What a person typed stands in the address.
            "Referrer-Policy": "same-origin",
        }

    async def __call__(self, scope: Any, receive: Callable, send: Callable) -> None:
        async def tell(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, tell)


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
    """A request; one for a page as of a browser that reads it only as it is."""
    if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
        return scope
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]}


def _is_page(start: Any) -> bool:
    headers = MutableHeaders(scope=start)
    is_html = headers.get("content-type", "").startswith("text/html")
    return start["status"] == 200 and is_html and "content-encoding" not in headers


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
    """Whether a name is an address of the network itself, which nobody can make lead elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_on_streamlit_cloud() -> bool:
    """Tell whether Streamlit's own front stands before the app, and decides which names lead to it."""
    return CLOUD in app_folder().parents and settings.names("ATTNVIZ_HOSTS") is None


def own_names() -> set[str]:
    """What the app answers to, besides numbers: this machine's names, and those of ATTNVIZ_HOSTS.

    Read at every request: Streamlit Cloud sets what stands among an app's secrets only when the server has started.
    """
    machine = socket.gethostname().casefold()
    listed = (name.casefold() for name in settings.names("ATTNVIZ_HOSTS") or ())
    return {"localhost", machine, f"{machine.partition('.')[0]}.local", *listed}


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
    """A message of a visitor's with every text cut one character above what is read here; None where it is refused.

    A page says of a text that is one character too long that it is too long (`attnviz.ui.permissions.check_length`).
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


MIDDLEWARE = [
    Middleware(SecurityHeaders),
    Middleware(FirstPaint, style=STYLE),
    Middleware(HostCheck),
    Middleware(MovedPages),
    Middleware(MessageFilter),
]
