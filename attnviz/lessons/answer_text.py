"""An answer as a student types it: how it is compared with the right one, read as a number, and quoted in a sentence."""

import re

from attnviz.text.words import visible


def same_answer(one: str, other: str) -> bool:
    """Whether two answers are the same but for case, spaces, what is invisible, and a full stop or quotes around them."""
    return plain(one) == plain(other)


def plain(text: str) -> str:
    """Write an answer as it is compared; one that is nothing but a mark stays."""
    words = visible(" ".join(text.casefold().split()))
    return words.strip(" .“”\"'!") or words


def read_number(written: str) -> float | None:
    """Read a share as a student types it; None where it is no number.

    >>> read_number("57 %"), read_number(",57"), read_number("0.57"), read_number("half")
    (0.57, 0.57, 0.57, None)
    """
    match = re.fullmatch(r"\s*([0-9]{0,6}[.,]?[0-9]{1,9})\s*(%?)\s*", written)
    return float(match[1].replace(",", ".")) / (100 if match[2] else 1) if match else None


def as_sentence(text: str) -> str:
    """End a text with a full stop, unless it has an end of its own, within quotes or without.

    >>> as_sentence("The answer is red"), as_sentence("It says “Why?”")
    ('The answer is red.', 'It says “Why?”')
    """
    return text if text.rstrip("”\"'»").endswith((".", "!", "?", "…", "。")) else f"{text}."
