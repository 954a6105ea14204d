"""Finding pieces in the text they were made from, for tokenizers that do not say where."""

import unicodedata
from collections.abc import Sequence

Span = tuple[int, int]


def align(surfaces: Sequence[str], text: str, *, whole: bool = True) -> list[Span]:
    """Find each surface in `text`, left to right, whatever its case and Unicode form; spaces count nowhere.

    A surface that is nowhere to be found (an unknown token) takes the words between its found neighbours; one that is
    empty (a special token) takes none. `whole` says that the surfaces spell all of the text, so that the last unknown one may
    reach to its end.

    >>> align(["The", "cat", "s"], "the  cats")
    [(0, 3), (5, 8), (8, 9)]
    """
    folded, origin = _folded(text)
    spans: list[Span | None] = []
    cursor = 0
    for surface in surfaces:
        needle = _folded(surface)[0]
        # Far away it would be another word that happens to be equal; unknown pieces are short.
        start = folded.find(needle, cursor, cursor + len(needle) + 64) if needle else -1
        spans.append((start, start + len(needle)) if start >= 0 else None)
        cursor = start + len(needle) if start >= 0 else cursor
    filled = _fill(spans, surfaces, len(folded) if whole else cursor)
    return [_in_text(span, origin, text) for span in filled]


def with_marks(text: str, end: int, stop: int) -> int:
    """Move `end` past the combining marks that follow, which belong to the character before them; at most to `stop`."""
    while end < stop and unicodedata.combining(text[end]):
        end += 1
    return end


def _folded(text: str) -> tuple[str, list[int]]:
    """Fold `text` to characters without case, space or compatibility forms, and say for each its index in `text`."""
    characters, origin = [], []
    for index, character in enumerate(text):
        for plain in unicodedata.normalize("NFKD", character).casefold():
            # Marks are dropped: an accent may be one character in the text and two in the vocabulary, or the reverse.
            if not plain.isspace() and not unicodedata.combining(plain) and plain not in "▁\ufffd":
                characters.append(plain)
                origin.append(index)
    return "".join(characters), origin


def _fill(spans: list[Span | None], surfaces: Sequence[str], end: int) -> list[Span]:
    """Give each run of unknown surfaces the characters between its neighbours, all of them the same span."""
    filled: list[Span] = []
    for index, span in enumerate(spans):
        if span is None:
            start = next((before[1] for before in reversed(spans[:index]) if before), 0)
            stop = next((after[0] for after in spans[index + 1 :] if after), end)
            span = (start, stop) if surfaces[index] else (start, start)
        filled.append(span)
    return filled


def _in_text(span: Span, origin: list[int], text: str) -> Span:
    start, end = span
    if start >= end:
        position = origin[start] if start < len(origin) else len(text)
        return position, position
    return origin[start], with_marks(text, origin[end - 1] + 1, len(text))
