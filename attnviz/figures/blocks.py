"""Parts of a page, one below the other: the app draws them with Streamlit, and the site has them as HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from attnviz.analysis.wording import Sentence


@dataclass(frozen=True)
class Pick:
    """Where a click leads: the values that it gives to the address, and the page, where that is another.

    `otherwise` are the values where the site has no picture of the first ones.
    """

    values: Mapping[str, Any]
    page: str = ""
    otherwise: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SentencesBlock:
    """Sentences in large type, the most telling one first."""

    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class TextBlock:
    """Text in Markdown, plain in outputs and notices; `hint` is what only the app can do, and `icon` one that only it has."""

    text: str
    kind: Literal["text", "heading", "caption", "notice", "output"] = "text"
    hint: str = ""
    icon: str = ""


@dataclass(frozen=True)
class PictureBlock:
    """A picture of its own key: HTML, or a record that a script draws; `picks` are its clicks, by what each hands over."""

    key: str
    body: str | dict[str, Any]
    picks: Mapping[str, Pick] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnsBlock:
    """Parts side by side, each column with its share of the width; `key` names them for the app's style."""

    columns: tuple[tuple[int, "Blocks"], ...]
    key: str = ""


@dataclass(frozen=True)
class FoldBlock:
    """Parts behind a title, which opens them."""

    title: str
    parts: "Blocks"


Block = SentencesBlock | TextBlock | PictureBlock | ColumnsBlock | FoldBlock
Blocks = Sequence[Block]


def how_to_read(text: str) -> FoldBlock:
    """Fold away how a picture is read, and what misleads in it."""
    return FoldBlock("How to read this, and what misleads", (TextBlock(text),))


def notice_blocks(notice: str) -> list[Block]:
    """Say what to notice of an example; nothing where there is nothing."""
    return [TextBlock(notice, "caption", icon="lightbulb")] * bool(notice)


def head_picks(shape: tuple[int, int]) -> dict[str, Pick]:
    """Name the clicks on the heads of a grid."""
    places = ((layer, head) for layer in range(shape[0]) for head in range(shape[1]))
    return {f"{layer}.{head}": Pick({"layer": layer, "head": head}) for layer, head in places}
