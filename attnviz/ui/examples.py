"""The curated prompts of assets/examples.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache

from attnviz.paths import assets_folder


@dataclass(frozen=True)
class Example:
    """A prompt, one line on what to notice, and the link it is shown for (layer, head, query, key, measured weight), if any.

    Of a translation, `word` is looked at first, and comes from `origin`; `target` is a translation that is given. Of a question
    about the text, `answer` is what answer-en finds; empty where it finds that the text does not say. `other`: one to
    compare the text with, by a `model` of its own or a `second` one, with `edits` or without.
    """

    label: str
    text: str
    notice: str
    layer: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    weight: float = 0.0
    pair: str = ""
    other: str = ""
    target: str = ""
    word: str = ""
    origin: str = ""
    question: str = ""
    answer: str = ""
    model: str = ""
    second: str = ""
    edits: str = ""

    @property
    def has_link(self) -> bool:
        return self.weight > 0


@cache
def examples(page: str) -> tuple[Example, ...]:
    """The examples of a page, in the order of the file."""
    table = tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))
    return tuple(Example(**entry) for entry in table[page])
