"""What several commands have in common: kinds of arguments, their help, what is said of unknown ones, lines printed at once."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attnviz.core.errors import AttnvizError, shortened

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


def output_path(text: str) -> Path:
    """Read the path of a file to write, where it can be: a long run must not find out at its end.

    Raises:
        AttnvizError: as of `check_can_write`.
    """
    path = file_path(text)
    check_can_write(path)
    return path


def check_can_write(path: Path) -> None:
    """Check that a file can be written there.

    >>> check_can_write(Path("nowhere/heads.csv"))
    Traceback (most recent call last):
    attnviz.core.errors.AttnvizError: There is no folder nowhere, so nowhere/heads.csv cannot be written: choose another place.

    Raises:
        AttnvizError: there is no such folder, or nothing may be written there.
    """
    if path.is_dir():
        raise AttnvizError(f"{path} is a folder, and what is written here is a file: name one in it.")
    if not path.parent.is_dir():
        raise AttnvizError(f"There is no folder {path.parent}, so {path} cannot be written: choose another place.")
    # A device or a pipe is written to as it is, a file is replaced.
    if not os.access(path if path.exists() and not path.is_file() else path.parent, os.W_OK):
        raise AttnvizError(f"{path} cannot be written (Permission denied): choose another place.")


def as_json(value: object) -> str:
    """Write plain values as JSON, in the letters that stdout has: for others only JSON's own escapes are JSON."""
    return json.dumps(value, ensure_ascii=(sys.stdout.encoding or "").replace("-", "").lower() != "utf8")


def print_now(line: object) -> None:
    """Print a line that is there at once, also in a file that someone watches."""
    print(line, flush=True)


def unrecognized(more: Sequence[str], *, reads_pairs: bool) -> str:
    """Say which arguments are not known, and what to do about words among them.

    >>> unrecognized(["cat", "sat"], reads_pairs=True)
    'unrecognized arguments: cat sat. Put a text of several words in quotes; a second text stands behind --pair'
    """
    said = f"unrecognized arguments: {' '.join(more)}"
    if all(each.startswith("-") for each in more):
        return said
    return f"{said}. Put a text of several words in quotes{'; a second text stands behind --pair' if reads_pairs else ''}"


def aligned(facts: dict[str, Any]) -> str:
    """Write facts one a line, their names in a column."""
    width = max(map(len, facts)) + 2
    lines = []
    for name, value in facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, tuple) else value
        if isinstance(value, dict):
            text = ", ".join(f"{key} {number}" for key, number in value.items())
        lines.append(f"{name:<{width}}{text}")
    return "\n".join(lines)
