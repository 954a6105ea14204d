"""A drawing on a sheet of paper, as items with places in points (1/72 inch), y downwards; and a text on it, word by word."""

import html
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
from jaxtyping import Bool, Float, UInt8

from attnviz.analysis.wording import cut
from attnviz.core.trace import Token
from attnviz.export.picture import Picture
from attnviz.figures.html import label
from attnviz.figures.theme import LIGHT, ink_on

# A column of an ACL paper is 77 mm wide, its page's text 160 mm.
COLUMN, PAGE = 218.0, 455.0
FONT = 7.0
# What an SVG names, and its reader has or not.
FAMILY = "'Source Sans 3', 'Source Sans Pro', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
# A glyph of a PNG or PDF comes from the first of these that is installed and has it, else from any font; DejaVu Sans travels
# with matplotlib.
FONTS = (
    "Source Sans 3", "Arial", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Noto Sans Arabic", "Noto Kufi Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans CJK SC", "Noto Sans CJK JP", "PingFang SC", "Microsoft YaHei",
    "Noto Emoji", "Segoe UI Emoji",
)  # fmt: skip
LINE = 1.15  # of the font's size: what a line needs so that no text touches the next
PADDING = 3.0
MAX_LABEL = 20
_NARROW, _WIDE = frozenset("iIjlft.,:;'|!()[]{}/\\-` \""), frozenset("mwMWÆŒ@%&…")


@dataclass(frozen=True)
class Label:
    """A text whose anchor stands at (x, y), the middle of its height; turned by `angle` degrees, upwards.

    text    in which what no printer knows becomes �
    width   to be set to exactly, so that it stays clear of what stands beside it whatever font the reader has; None: its own
    """

    x: float
    y: float
    text: str
    anchor: str = "start"
    angle: float = 0.0
    size: float = FONT
    colour: str = LIGHT.text
    bold: bool = False
    width: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", printable(self.text))


@dataclass(frozen=True)
class Rectangle:
    """A rectangle; `data` goes into the file as attributes."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str = ""
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Arc:
    """A curve from the left to the right, level at both ends."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    thickness: float
    opacity: float
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Pixels:
    """An image whose pixels stay sharp."""

    x: float
    y: float
    width: float
    height: float
    colours: UInt8[np.ndarray, "row column 3"]


@dataclass(frozen=True)
class Polyline:
    """Straight lines from point to point; with a `fill`, what they enclose."""

    points: tuple[tuple[float, float], ...]
    colour: str
    thickness: float
    fill: str = "none"
    opacity: float = 1.0


Item = Label | Rectangle | Arc | Pixels | Polyline


@dataclass(frozen=True, eq=False)
class Sheet:
    """Items on a sheet; a later one lies over those before. Its title, as all texts on it, is printable."""

    title: str
    width: float
    height: float
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", printable(self.title))

    @property
    def labels(self) -> list[Label]:
        """Its texts, in their order."""
        return [item for item in self.items if isinstance(item, Label)]


def moved(item: Item, x: float, y: float) -> Item:
    """Shift an item.

    >>> moved(Arc(0.0, 0.0, 1.0, 1.0, "#000000", 1.0, 1.0), 2.0, 3.0).to_y
    4.0
    """
    if isinstance(item, Polyline):
        return replace(item, points=tuple((across + x, down + y) for across, down in item.points))
    there = replace(item, x=item.x + x, y=item.y + y)
    return replace(there, to_x=there.to_x + x, to_y=there.to_y + y) if isinstance(there, Arc) else there


def titled(sheet: Sheet, title: str) -> Sheet:
    """Write a line above a sheet."""
    line = 2 * FONT
    head = Label(PADDING, line / 2 + PADDING, title, bold=True)
    width = max(sheet.width, width_of(title) * FONT * 1.1 + 2 * PADDING)
    items = (head, *(moved(item, 0.0, line) for item in sheet.items))
    return Sheet(sheet.title, width, sheet.height + line, items)


def side_by_side(sheets: Sequence[Sheet], title: str) -> Sheet:
    """Lay several sheets out in rows, as many beside each other as a page is wide."""
    items, x, y, high, wide = [], 0.0, 0.0, 0.0, 0.0
    for each in sheets:
        if x and x + each.width > PAGE:
            x, y, high = 0.0, y + high, 0.0
        items += (moved(item, x, y) for item in each.items)
        x, high = x + each.width + 4 * PADDING, max(high, each.height + 4 * PADDING)
        wide = max(wide, x - 4 * PADDING)
    return Sheet(title, wide, y + high, tuple(items))


def printed_text(token: Token) -> str:
    """Write a token as a label; a long one is cut, and what no printer knows becomes �.

    >>> printed_text(Token("a\\x01b", 0, 3)), printed_text(Token("a" * 30, 0, 30))
    ('a�b', 'aaaaaaaaaaaaaaaaaaa…')
    """
    return cut(printable(html.unescape(label(token))), MAX_LABEL)


def printable(text: str) -> str:
    """Replace what no printer knows by �."""
    return "".join("\ufffd" if unicodedata.category(each) in ("Cc", "Cs", "Cn") else each for each in text)


def width_of(text: str) -> float:
    """Estimate how wide a text is, in its font's size: no font is read, since the reader's may be another.

    >>> width_of("ab"), width_of("中文"), round(width_of("it"), 2)
    (1.2, 2.0, 0.7)
    """
    # One after the other, as a browser adds: since Python 3.12, sum() rounds otherwise.
    return reduce(add, map(_width, text), 0.0)


def _width(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    return 0.35 if character in _NARROW else 0.95 if character in _WIDE else 0.72 if character.isupper() else 0.6


SIZE = 9.0
ROW = 16.0
BETWEEN = 2.0
INSIDE = 1.5


@dataclass(frozen=True)
class Word:
    """A word of a drawn text.

    share   of the strongest colour, 0 to 1; None: it is masked, and not shaded
    marked  framed: the one that looks, what answers, or what is kept
    """

    text: str
    share: float | None
    marked: bool = False


def in_lines(texts: Sequence[str]) -> Iterator[tuple[float, int, float]]:
    """Set words in lines as wide as the page of a paper: of each its x, its line, and how wide it is.

    >>> [line for _, line, _ in in_lines(["word"] * 30)].count(0)
    15
    """
    x, line = PADDING, 0
    for text in texts:
        wide = width_of(text) * SIZE + 2 * INSIDE
        if x > PADDING and x + wide > PAGE - PADDING:
            x, line = PADDING, line + 1
        yield x, line, wide
        x += wide + BETWEEN


def draw_words(words: Sequence[Word], title: str) -> Sheet:
    """Draw a text in lines as wide as the page of a paper, below its title."""
    items: list[Item] = []
    x, line, wide = PADDING, 0, -BETWEEN
    for word, (x, line, wide) in zip(words, in_lines([word.text for word in words]), strict=True):
        items += _drawn(word, x, line * ROW + PADDING, wide)
    width = PAGE if line else x + wide + BETWEEN + PADDING
    items.sort(key=lambda item: isinstance(item, Label))
    return titled(Sheet(title, width, (line + 1) * ROW + PADDING, tuple(items)), title)


def draw_marked(
    tokens: Sequence[Token], values: Float[np.ndarray, " token"], marked: Bool[np.ndarray, " token"], title: str
) -> Sheet:
    """Draw a text, each token shaded by its value, the darkest the highest; those that are marked are framed."""
    shares = np.clip(values / max(float(values.max()), 1e-12), 0, 1).tolist()
    words = zip(tokens, shares, marked.tolist(), strict=True)
    return draw_words([Word(printed_text(token), share, mark) for token, share, mark in words], title)


def draw_shaded_text(picture: Picture, query: int) -> Sheet:
    """Draw the text of a head's keys, shaded by their weights from one query."""
    matrix = picture.matrix
    own, end = matrix.own[query], picture.end
    row = zip(matrix.keys, matrix.weights[query].tolist(), matrix.visible[query].tolist(), strict=True)
    words = [
        Word(printed_text(token), min(weight / end, 1.0) if visible else None, key == own)
        for key, (token, weight, visible) in enumerate(row)
    ]
    return draw_words(words, f"What {printed_text(matrix.queries[query])} looks at in {picture.name} of {picture.model}")


def _drawn(word: Word, x: float, y: float, wide: float) -> Iterator[Item]:
    colour = LIGHT.masked if word.share is None else LIGHT.colour(word.share)
    data = () if word.share is None else (("share", f"{word.share:.6g}"),)
    high = ROW - BETWEEN
    yield Rectangle(x, y, wide, high, colour, LIGHT.accent if word.marked else "", data)
    wide -= 2 * INSIDE
    # A mark that combines with the letter before has no width of its own.
    yield Label(x + INSIDE, y + high / 2, word.text, size=SIZE, colour=ink_on(colour), bold=word.marked, width=max(wide, 1.0))
