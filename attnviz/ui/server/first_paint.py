"""The app's style, put into Streamlit's page before its script runs."""

from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders


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
