"""A text on paper, line by line: each word shaded by its value, and framed if it is marked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.trace import Token
from attnviz.export.picture import Picture
from attnviz.export.sheet import PADDING, PAGE, Item, Label, Rectangle, Sheet, printed_text, titled, width_of
from attnviz.figures.theme import LIGHT, ink_on

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
