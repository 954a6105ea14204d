"""The command `attnviz`: without arguments it opens the app."""

import argparse
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attnviz
from attnviz import settings
from attnviz.cli.ablate import add_ablate_command
from attnviz.cli.arguments import PLAIN
from attnviz.cli.faithful import add_faithful_command
from attnviz.cli.heads import add_heads_commands
from attnviz.cli.traces import add_trace_commands
from attnviz.core.errors import AttnvizError, SettingError
from attnviz.paths import app_folder

EXAMPLES = """examples:
  attnviz                              the app at http://localhost:8501
  attnviz --port 9000                  at another port
  attnviz --host 0.0.0.0               for other machines of the network too
  ATTNVIZ_DEVICE=cpu attnviz           without the graphics card
  attnviz trace minilm "The cat sat." -o cat.attn
  attnviz show cat.attn -o cat.svg --layer 3 --head 1
  attnviz models                       the models there are
  attnviz ablate transformer-en-fr --data pairs.tsv    which heads matter
  attnviz claim minilm "L2·H0: obj -> head"   does that head do that? tested on 1,500 sentences
  attnviz survey minilm --text corpus.txt -o survey   every head, measured over a corpus
  attnviz train bahdanau-en-fr --data DATA
  attnviz train toy-reverse            a small model, in seconds
  attnviz evaluate bahdanau-en-fr --data DATA
  attnviz faithful answer-en --data qa.dev.jsonl.gz
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
        formatter_class=PLAIN,
    )
    top.add_argument("--version", action="version", version=f"attnviz {attnviz.__version__}")
    top.add_argument("--host", default="localhost", help="address to listen on (default: localhost, this machine only)")
    top.add_argument("--port", type=port, default=8501, help="port to listen on (default: 8501)")
    top.set_defaults(command=serve)
    commands = top.add_subparsers(title="commands", metavar="")
    for add in (add_trace_commands, add_ablate_command, add_faithful_command, add_heads_commands):
        add(commands)
    _training(commands)
    return top


def _training(commands: Any) -> None:
    """`attnviz train`, `attnviz link` and `attnviz evaluate`, which need the training data, save for toys."""
    train = commands.add_parser("train", help="train a model by its recipe; a killed run goes on where it stopped")
    train.add_argument("name", help="the model, such as bahdanau-en-fr or answer-en, or a toy, such as toy-reverse")
    train.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of the training data; a toy needs none")
    train.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="RUNS", help="where checkpoints are kept (default: runs)"
    )
    train.add_argument(
        "--out", type=Path, metavar="PATH", help="the folder to save the model in, of a toy the file (default: RUNS/NAME)"
    )
    train.add_argument("--epochs", type=int, help="passes over the data (default: the recipe's)")
    train.add_argument("--steps", type=int, help="of a toy: batches that it learns from (default: the recipe's)")
    train.add_argument("--seed", type=int, help="of a toy: decides its first weights and all examples (default: 1)")
    train.set_defaults(command=train_model, wrong=train.error)
    evaluate = commands.add_parser("evaluate", help="measure a model: BLEU and its alignments, EM and F1, or ROUGE")
    evaluate.add_argument("name", help="the model, such as bahdanau-en-fr, or its folder, such as runs/bahdanau-en-fr")
    evaluate.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the folder of the data to measure it on")
    evaluate.add_argument("--save", action="store_true", help="write the figures into the model's metrics.json")
    evaluate.add_argument(
        "--control", type=Path, metavar="RUN", help="the same recipe without its supervised head, measured: for the card"
    )
    evaluate.set_defaults(command=evaluate_model)
    link = commands.add_parser("link", help="link the words of a model's training pairs, with the aligner eflomal")
    link.add_argument("name", help="the model, such as transformer-en-fr")
    link.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the folder of the training data")
    link.add_argument("--out", type=Path, metavar="FOLDER", help="where the links are written (default: beside the data)")
    link.set_defaults(command=link_words)


def serve(arguments: argparse.Namespace) -> int:
    """Serve the app until it is stopped."""
    settings.check()
    check_host(arguments.host)
    for hint in settings.unknown():
        print(f"attnviz: {hint}", file=sys.stderr)
    if settings.text("ATTNVIZ_DEVICE"):
        # Imported here: only PyTorch knows whether this machine has it, and takes seconds to say so.
        from attnviz.models import device

        device.choose()
    options = {"address": arguments.host, "port": arguments.port, "maxUploadSize": settings.limit("ATTNVIZ_FILE_MB")}
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
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        raise SettingError(
            f"--host {host!r} is no address of this machine: say localhost, or 0.0.0.0 for other machines of the network too."
        ) from error


def train_model(arguments: argparse.Namespace) -> int:
    """Train a model and save it."""
    # Imported here: the command's help must not wait for torch.
    from recipes import commands

    if arguments.name.startswith("toy-"):
        wished = {"steps": arguments.steps, "seed": arguments.seed}
        commands.train_toy(arguments.name, arguments.runs, out=arguments.out, **wished, report=print_now)
    elif arguments.data is None:
        arguments.wrong(f"{arguments.name} learns from data: --data is required")
    else:
        wished = {"out": arguments.out, "epochs": arguments.epochs}
        commands.train(arguments.name, arguments.data, arguments.runs, **wished, report=print_now)
    return 0


def link_words(arguments: argparse.Namespace) -> int:
    """Write the links that a supervised head learns from, and that alignments are measured against."""
    from recipes import commands

    commands.link(arguments.name, arguments.data, arguments.out or arguments.data, report=print_now)
    return 0


def evaluate_model(arguments: argparse.Namespace) -> int:
    """Print what a trained model is worth."""
    from recipes import commands

    commands.evaluate(arguments.name, arguments.data, save=arguments.save, control=arguments.control, report=print_now)
    return 0


def print_now(line: object) -> None:
    """Print a line that is there at once, also in a file that someone watches."""
    print(line, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; what is wrong is said in one line, not in a traceback."""
    _open_streams()
    try:
        try:
            arguments = parser().parse_args(argv)
            return arguments.command(arguments)
        finally:
            sys.stdout.flush()  # help and version end the program, and are not written yet either
    except AttnvizError as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        return 130  # as a shell has it: 128 and the signal's number
    except BrokenPipeError:
        _forget_stdout()
        return 141
    except OSError as error:
        if error.filename is None:
            _forget_stdout()
            return _failed(f"The output cannot be written ({error.strerror or error}): stdout is closed, or its disk is full.")
        return _failed(f"{error.filename} cannot be read or written ({error.strerror}): choose another place.")


def _failed(why: str) -> int:
    print(f"attnviz: {why}", file=sys.stderr)
    return 1


def _open_streams() -> None:
    """Open the streams that the shell has closed: writing to stdout is then an error, and stderr is not missed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - open for reading, and as long as the program runs
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _forget_stdout() -> None:
    """Lead stdout nowhere: Python would complain once more when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
