"""Addresses of an older version's pages lead to where these are now."""

from collections.abc import Callable
from typing import Any

from starlette.responses import RedirectResponse

from attnviz.text.old_addresses import current_address


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
