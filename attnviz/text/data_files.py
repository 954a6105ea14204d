"""Files of texts, packed by gzip or not: their lines, and the prompts that some formats hold."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attnviz.core.errors import CorpusError, PromptError
from attnviz.core.trace import Prompt

# What a command that reads prompts says in its help.
FORMATS = (
    "FILE is .tsv (a text, a tab, what the model is to write), .jsonl (text, context or sentences; question, target) or any\n"
    "other (a text a line); it may end in .gz, too. Empty lines are skipped."
)

# UTF-8, before which some editors write a mark.
ENCODING = "utf-8-sig"
# A device, or what is no text at all, may have no line end, and memory is taken for all of a line.
LONGEST_LINE = 10**7


def text_lines(path: Path) -> Iterator[str]:
    """Read a file of text line by line.

    Raises:
        CorpusError: it cannot be read, or is no text in UTF-8.
    """
    number = 0
    try:
        # Of Python's line ends only \n: a lone \r may stand within a field.
        options: dict[str, Any] = {"mode": "rt", "encoding": ENCODING, "newline": "\n"}
        with gzip.open(path, **options) if path.suffix == ".gz" else open(path, **options) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), start=1):
                if len(line) > LONGEST_LINE:
                    raise CorpusError(f"Line {number:,} of {path.name} has more than {LONGEST_LINE:,} characters: break it up.")
                yield line
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path.name} is no text in UTF-8 after line {number:,}: save it in UTF-8.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or error}): choose another file."
        ) from error


def split_lines(text: str) -> list[str]:
    r"""Part a text at \n and \r\n alone: what else Python takes for a line's end (U+2028, a form feed) is data.

    >>> split_lines("a\u2028b\r\nc")
    ['a\u2028b', 'c']
    """
    return [line.removesuffix("\r") for line in text.split("\n")]


def read_prompts(path: Path) -> Iterator[Prompt]:
    """Read the prompts of a file, one a line, as `FORMATS` says.

    Raises:
        CorpusError: the file cannot be read, or a line is none; the message has its number.
    """
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"]
    for number, line in enumerate(text_lines(path), 1):
        if line.strip():
            yield _prompt(line.rstrip("\r\n"), suffixes[-1] if suffixes else "", f"Line {number} of {path.name}")


def _prompt(line: str, suffix: str, where: str) -> Prompt:
    try:
        if suffix == ".jsonl":
            record = json.loads(line)
            text = record.get("text") or record.get("context") or " ".join(record["sentences"])
            return Prompt(text, question=record.get("question"), target=record.get("target"))
        if suffix == ".tsv":
            text, target = line.split("\t")[:2]
            return Prompt(text, target=target)
        return Prompt(line)
    except PromptError as error:
        raise CorpusError(f"{where} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorpusError(f"{where} is not as a {suffix} file has it: see the command's --help.") from error
