"""What several commands have in common: kinds of arguments, what their help says, and lines that are printed at once."""

import argparse

PLAIN = argparse.RawDescriptionHelpFormatter
MODEL = "a name of `attnviz models`, a Hugging Face id, or a folder"
EXIT_CODES = "exit codes: 0 done; 1 it could not be done, and why is on stderr; 2 the command was not understood."


def positive(text: str) -> int:
    """Read a number of 1 or more, as typed.

    >>> positive("12")
    12
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"this is a number from 1 on, not {text!r}")
    return int(text)


def print_now(line: object) -> None:
    """Print a line that is there at once, also in a file that someone watches."""
    print(line, flush=True)
