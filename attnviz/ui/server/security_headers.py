"""What every answer tells the browser that it may not do: the Content-Security-Policy and its like."""

import base64
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit
from starlette.datastructures import MutableHeaders

from attnviz import settings
from attnviz.figures.bertviz import views as bertviz
from attnviz.ui.classroom.phone_page import phone_script

_INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


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
