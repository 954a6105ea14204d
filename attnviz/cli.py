"""The command `attnviz`: without arguments it opens the app."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

import attnviz
from attnviz.errors import AttnvizError
from attnviz.paths import app_folder

EXAMPLES = """examples:
  attnviz                              the app at http://localhost:8501
  attnviz --port 9000                  at another port
  attnviz --host 0.0.0.0               for other machines of the network too
  ATTNVIZ_DEVICE=cpu attnviz           without the graphics card
"""


def port(text: str) -> int:
    """A port number, as typed.

    >>> port("8501")
    8501
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """All commands and options. A command is a subparser with a default `command`: args -> exit status."""
    top = argparse.ArgumentParser(
        prog="attnviz",
        description="Type a sentence and see what every attention head of a real model does with it.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"attnviz {attnviz.__version__}")
    top.add_argument("--host", default="localhost", help="address to listen on (default: localhost, this machine only)")
    top.add_argument("--port", type=port, default=8501, help="port to listen on (default: 8501)")
    top.set_defaults(command=serve)
    return top


def serve(arguments: argparse.Namespace) -> int:
    """Serve the app until it is stopped."""
    command = [sys.executable, "-m", "streamlit", "run", str(app_folder() / "app.py")]
    options = {
        "server.address": arguments.host,
        "server.port": arguments.port,
        "server.headless": "true",  # else Streamlit asks for an e-mail address before it starts
        "browser.gatherUsageStats": "false",
    }
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    if os.name == "nt":
        return subprocess.call(command)
    # The server takes this process's place, so that a signal to `attnviz` reaches it.
    sys.stdout.flush()
    os.execv(sys.executable, command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what is wrong is said in one line, not in a traceback."""
    arguments = parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except AttnvizError as error:
        print(f"attnviz: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
