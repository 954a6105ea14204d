"""What a visitor's browser may send over Streamlit's WebSocket, and how long a text in it may be."""

from collections.abc import Callable
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg

from attnviz import settings

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
    """A message of a visitor's with every text cut one character above what is read here; None where it is refused.

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
