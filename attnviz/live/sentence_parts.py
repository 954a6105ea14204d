"""Sentences made of numbers, as the script of the site reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from attnviz.analysis.wording import Sentence

Parts = list[list[object]]


@dataclass(frozen=True)
class Described:
    """What a page says of its results.

    first  of each kind of map the layer and the head (None: the mean) that are looked at first
    story  the sentences, the most telling one first
    more   what else the page draws
    files  packages by the end of their names
    """

    first: Mapping[str, tuple[int, int | None]]
    story: tuple[Sentence, ...]
    more: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def sentence_parts(sentence: Sentence) -> Parts:
    """Write a sentence for the script: of each part its text, and 1 where it is strong, 2 where it is quoted, too.

    >>> from attnviz.analysis.wording import Part, quoted
    >>> sentence_parts((Part("L0·H1", strong=True), Part(" looks at "), quoted("it")))
    [['L0·H1', 1], [' looks at ', 0], ['it', 2]]
    """
    return [[part.text, int(part.strong) + int(part.quoted)] for part in sentence]
