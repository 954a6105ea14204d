"""The command without a name: the app, at an address and a port of this machine."""

import argparse
import errno
import os
import socket
import subprocess
import sys

from attnviz import settings
from attnviz.core.errors import SettingError
from attnviz.settings import app_folder

# Megabytes of a message, as in `.streamlit/config.toml`.
LEAST_MESSAGE_MB = 32
# As `python -m streamlit`, but ctrl-c ends it without a traceback of what is being imported.
STREAMLIT = """import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
from streamlit.web.cli import main
main(prog_name="streamlit")"""


def port(text: str) -> int:
    """Parse a port number, as typed.

    >>> port("8501")
    8501
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def add_serve_options(top: argparse.ArgumentParser) -> None:
    """Add where the app listens; the command alone serves it."""
    top.add_argument("--host", default="localhost", help="address to listen on (default: localhost, this machine only)")
    top.add_argument("--port", type=port, default=8501, help="port to listen on (default: 8501)")
    top.set_defaults(command=serve)


def serve(arguments: argparse.Namespace) -> int:
    """Serve the app until it is stopped."""
    settings.check()
    check_host(arguments.host)
    check_port(arguments.host, arguments.port)
    for hint in settings.unknown():
        print(f"attnviz: {hint}", file=sys.stderr)
    if settings.text("ATTNVIZ_DEVICE"):
        # Imported here: only PyTorch knows whether this machine has it, and takes seconds to say so.
        from attnviz.models import device

        device.choose()
    options = {"address": arguments.host, "port": arguments.port, "maxUploadSize": settings.limit("ATTNVIZ_FILE_MB")}
    options["maxMessageSize"] = max(LEAST_MESSAGE_MB, 4 * settings.limit("ATTNVIZ_MESSAGE_MB"))
    command = [sys.executable, "-c", STREAMLIT, "run", str(app_folder() / "app.py")]
    command += [f"--server.{name}={value}" for name, value in options.items()]
    if os.name == "nt":
        return subprocess.call(command)
    # The server takes this process's place, so that a signal to `attnviz` reaches it.
    sys.stdout.flush()
    os.execv(sys.executable, command)


def check_host(host: str) -> None:
    """Take an address of this machine and nothing else: the server's own answer to another one is a traceback.

    Raises:
        SettingError: there is no such address, or it is another machine's.
    """
    try:
        if not host:
            raise UnicodeError("nothing at all would be every address of this machine")
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        raise SettingError(
            f"--host {host!r} is no address of this machine: say localhost, or 0.0.0.0 for other machines of the network too."
        ) from error


def check_port(host: str, port: int) -> None:
    """Take a port that is free: the server's own answer to another one does not say what to do.

    Raises:
        SettingError: another program listens there, or this user may not.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        if os.name != "nt":  # there it would take the port of a program that listens
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except PermissionError as error:
            raise SettingError(f"Port {port} may not be opened by this user: choose another one, such as 8501.") from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return
            raise SettingError(
                f"Port {port} is taken, perhaps by another attnviz: choose another one, such as {port % 65535 + 1}."
            ) from error
