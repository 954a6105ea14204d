"""Connections that keep a server from its visitors are closed: those that ask for nothing, send no body, or are too many."""

import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakSet

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from attnviz import settings

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
        network = _network(transport.get_extra_info("peername"))
        transports = of_networks.setdefault(network, WeakSet())
        transports.add(transport)
        if len(transports) > most and not _is_trusted(network) and sum(not each.is_closing() for each in transports) > most:
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
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def _network(peer: Any) -> str:
    return str(peer[0]) if isinstance(peer, tuple) and peer else ""


def _is_trusted(network: str) -> bool:
    """Whether a connection comes from a proxy, or from this very machine, where the health check is."""
    trusted = settings.names("FORWARDED_ALLOW_IPS") or ()
    try:
        is_here = ipaddress.ip_address(network).is_loopback
    except ValueError:
        is_here = True
    return is_here or "*" in trusted or network in trusted


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
    """How long the body of a request may take, by the length that its head tells."""
    if cycle is None:
        return PATIENCE
    length = dict(cycle.scope["headers"]).get(b"content-length", b"0")
    return PATIENCE + min(int(length) if length.isdigit() else 0, LARGEST) / BYTES_A_SECOND
