"""Connections that ask for nothing are closed: some hundreds of them would leave a server none for its visitors."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# Seconds in which all of a request's head has to be there.
PATIENCE = 20.0


@asynccontextmanager
async def closing_silent_connections(app: Any) -> AsyncIterator[None]:
    """Give each connection that is made while the app runs some seconds for the head of a request, and for each further one."""
    protocol: Any = AutoHTTPProtocol
    made = protocol.connection_made

    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        self.loop.call_later(PATIENCE, _close_if_silent, self)

    protocol.connection_made = connection_made
    try:
        yield
    finally:
        protocol.connection_made = made


def _close_if_silent(connection: Any, was_silent: bool = True) -> None:
    """Close a connection that has had no request for as long as this; one that is a WebSocket by now is not looked after."""
    if connection not in connection.connections:
        return
    is_answered = connection.cycle is None or connection.cycle.response_complete
    # As long as uvicorn's own timer runs, nothing of a further request is there.
    is_silent = is_answered and connection.timeout_keep_alive_task is None
    if is_silent and was_silent:
        connection.transport.close()
    else:
        connection.loop.call_later(PATIENCE / 2, _close_if_silent, connection, is_silent)
