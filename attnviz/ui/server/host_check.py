"""The names that the app goes by; a request for any other is refused."""

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from attnviz import settings
from attnviz.paths import app_folder

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
