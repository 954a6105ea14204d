"""The command `attnviz`: without arguments it opens the app."""

import argparse
import errno
import io
import os
import socket
import subprocess
import sys
from collections.abc import Sequence

import attnviz
from attnviz import settings
from attnviz.cli.ablate import add_ablate_command
from attnviz.cli.arguments import PLAIN, unrecognized
from attnviz.cli.faithful import add_faithful_command
from attnviz.cli.heads import add_heads_commands
from attnviz.cli.lesson import add_lesson_commands
from attnviz.cli.site import add_site_command
from attnviz.cli.traces import add_trace_commands
from attnviz.cli.train import add_train_command
from attnviz.cli.write import add_why_commands, add_write_command
from attnviz.core.errors import AttnvizError, SettingError
from attnviz.settings import app_folder

# Megabytes of a message, as in `.streamlit/config.toml`.
LEAST_MESSAGE_MB = 32
EXAMPLES = """examples:
  attnviz                              the app at http://localhost:8501
  attnviz --port 9000                  at another port
  attnviz --host 0.0.0.0               for other machines of the network too
  ATTNVIZ_DEVICE=cpu attnviz           without the graphics card
  attnviz trace minilm "The cat sat." -o cat.attn
  attnviz show cat.attn -o cat.svg --layer 3 --head 1
  attnviz write smollm2 "Once upon a time"   a language model writes on
  attnviz parts smollm2 "The capital of France is"   what each head adds to the next word; also `lens`, `patch`
  attnviz models                       a list of the models
  attnviz ablate transformer-en-fr --data pairs.tsv    which heads matter
  attnviz claim minilm "L2·H0: obj -> head"   does that head do that? tested on 1,500 sentences
  attnviz survey minilm --text corpus.txt -o survey   every head, measured over a corpus
  attnviz train toy-reverse            a small model, in seconds
  attnviz faithful answer-en --data qa.dev.jsonl.gz
  attnviz site -o public               the pictures as a folder of static files
  attnviz lesson new pronouns          a lesson to start from; `lesson check` finds what is wrong with it
"""


def port(text: str) -> int:
    """Parse a port number, as typed.

    >>> port("8501")
    8501
    """
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and options. A command is a subparser with a default `command`: args -> exit status."""
    top = argparse.ArgumentParser(
        prog="attnviz",
        description="Type a sentence and see what every attention head of a real model does with it.",
        epilog=EXAMPLES,
        formatter_class=PLAIN,
    )
    top.add_argument("--version", action="version", version=f"attnviz {attnviz.__version__}")
    top.add_argument("--host", default="localhost", help="address to listen on (default: localhost, this machine only)")
    top.add_argument("--port", type=port, default=8501, help="port to listen on (default: 8501)")
    top.set_defaults(command=serve)
    commands = top.add_subparsers(title="commands", metavar="command")
    own = (
        add_trace_commands,
        add_write_command,
        add_why_commands,
        add_ablate_command,
        add_faithful_command,
        add_heads_commands,
        add_train_command,
    )
    for add in (*own, add_lesson_commands, add_site_command):
        add(commands)
    return top


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
    command = [sys.executable, "-m", "streamlit", "run", str(app_folder() / "app.py")]
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of attnviz."""
    return run_command(parser(), argv)


def run_command(commands: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run what was typed, the `command` of the arguments; what is wrong is said in one line, not in a traceback."""
    _open_streams()
    try:
        try:
            arguments, more = commands.parse_known_args(argv)
            if more:
                commands.error(unrecognized(more, reads_pairs=hasattr(arguments, "pair")))
            return arguments.command(arguments)
        finally:
            sys.stdout.flush()  # help and version end the program, and are not written yet either
    except AttnvizError as error:
        return _failed(commands.prog, str(error))
    except MemoryError as error:
        return _failed(
            commands.prog, str(error) or "This needs more memory than there is: try a shorter text or a smaller model."
        )
    except KeyboardInterrupt:
        return 130  # as a shell has it: 128 and the signal's number
    except BrokenPipeError:
        _forget_stdout()
        return 141
    except OSError as error:
        if error.filename is None:
            _forget_stdout()
            why = f"The output cannot be written ({error.strerror or error}): stdout is closed, or its disk is full."
            return _failed(commands.prog, why)
        return _failed(commands.prog, f"{error.filename} cannot be read or written ({error.strerror}): choose another place.")


def _failed(program: str, why: str) -> int:
    print(f"{program}: {why}", file=sys.stderr)
    return 1


def _open_streams() -> None:
    """Open the streams that the shell has closed: writing to stdout is then an error, and stderr is not missed.

    What a terminal's encoding does not have, or half a character of an argument, is written by its number.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open for reading, and as long as the program runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Lead stdout nowhere: Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
