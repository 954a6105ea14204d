"""The command `attnviz`: without arguments it opens the app."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence

import attnviz
from attnviz.cli.ablate import add_ablate_command
from attnviz.cli.arguments import PLAIN, unrecognized
from attnviz.cli.faithful import add_faithful_command
from attnviz.cli.heads import add_heads_commands
from attnviz.cli.lesson import add_lesson_commands
from attnviz.cli.models import add_model_commands
from attnviz.cli.progress_line import progress_line
from attnviz.cli.serve import add_serve_options
from attnviz.cli.site import add_site_command
from attnviz.cli.traces import add_trace_commands
from attnviz.cli.train import add_train_command
from attnviz.cli.write import add_why_commands, add_write_command
from attnviz.core.errors import AttnvizError, beyond_machine

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


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands and options. A command is a subparser with a default `command`: args -> exit status."""
    top = argparse.ArgumentParser(
        prog="attnviz",
        description="Type a sentence and see what every attention head of a real model does with it.",
        epilog=EXAMPLES,
        formatter_class=PLAIN,
    )
    top.add_argument("--version", action="version", version=f"attnviz {attnviz.__version__}")
    add_serve_options(top)
    commands = top.add_subparsers(title="commands", metavar="command")
    own = (
        add_trace_commands,
        add_model_commands,
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of attnviz."""
    return run_command(parser(), argv)


def run_command(commands: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Run what was typed, the `command` of the arguments; what is wrong is said in one line, not in a traceback."""
    _open_streams()
    # Where its fonts are kept is no news of attnviz: it says so where the home folder is read-only.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
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
    except KeyboardInterrupt:
        return 130  # as a shell has it: 128 and the signal's number
    except BrokenPipeError:
        _forget_stdout()
        return 141
    except Exception as error:
        if limit := beyond_machine(error):
            return _failed(commands.prog, str(limit))
        if not isinstance(error, OSError):
            raise
        reason = f" ({error.strerror})" if error.strerror else ""
        if error.filename is None:
            _forget_stdout()
            return _failed(commands.prog, f"The output cannot be written{reason}: stdout is closed, or its disk is full.")
        return _failed(commands.prog, f"{error.filename} cannot be read or written{reason}: choose another place.")


def _failed(program: str, why: str) -> int:
    progress_line(f"{program}: {why}", None)
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
