"""What several commands have in common: kinds of arguments, what their help says, and lines that are printed at once."""

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from attnviz.core.errors import shortened

PLAIN = argparse.RawDescriptionHelpFormatter
MODEL = "a name of `attnviz models`, a Hugging Face id, or a folder"
MOST = 10**9
ONE_TEXT = "One text has no interval: measure two or more."
EXIT_CODES = "exit codes: 0 done; 1 it could not be done, and why is on stderr; 2 the command was not understood."


def add_command(
    commands: Any, command: Callable[[argparse.Namespace], int], name: str, about: str, epilog: str = ""
) -> argparse.ArgumentParser:
    """Add a command and what its help says, at the end what exit codes mean; `command` runs it."""
    added = commands.add_parser(name, help=about, epilog=f"{epilog}\n\n{EXIT_CODES}".strip(), formatter_class=PLAIN)
    added.set_defaults(command=command)
    return added


def positive(text: str) -> int:
    """Read a number of 1 or more, as typed.

    >>> positive("12")
    12
    """
    return _number(text, 1)


def natural(text: str) -> int:
    """Read a number of 0 or more, as typed.

    >>> natural("0")
    0
    """
    return _number(text, 0)


def natural_to(most: int) -> Callable[[str], int]:
    """Make a reader of numbers from 0 to a most, as typed.

    >>> natural_to(7)("5")
    5
    """
    return partial(_number, least=0, most=most)


def _number(text: str, least: int, most: int = MOST) -> int:
    # Python reads no number of thousands of digits, and counts nothing so far.
    if not text.isdecimal() or len(text) > 10 or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"this is a number from {least} to {most:,}, not {shortened(text)}")
    return int(text)


def file_path(text: str) -> Path:
    """Read the path of a file to write, as typed.

    >>> file_path("out/heads.csv").name
    'heads.csv'
    """
    if not Path(text).name or os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"this is the path of a file, not {shortened(text)}")
    return Path(text)


def print_now(line: object) -> None:
    """Print a line that is there at once, also in a file that someone watches."""
    print(line, flush=True)
