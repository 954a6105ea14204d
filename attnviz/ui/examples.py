"""The curated prompts of assets/examples.toml."""

import tomllib
from dataclasses import dataclass
from functools import cache

from attnviz.paths import assets_folder


@dataclass(frozen=True)
class Example:
    """A prompt, the link it is shown for (layer, head, query, key, measured weight), and one line on what to notice."""

    label: str
    text: str
    layer: int
    head: int
    query: int
    key: int
    weight: float
    notice: str
    pair: str = ""


@cache
def examples(page: str) -> tuple[Example, ...]:
    """The examples of a page, in the order of the file."""
    table = tomllib.loads((assets_folder() / "examples.toml").read_text(encoding="utf-8"))
    return tuple(Example(**entry) for entry in table[page])
