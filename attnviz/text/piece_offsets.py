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
    # Some tokenizers drop vowel signs as they drop accents.
    signs = any(_is_mark(each) and not unicodedata.combining(each) for surface in surfaces for each in surface)
    folded, origin = _folded(text, signs=signs)
    spans: list[Span | None] = []
    cursor = 0
    for surface in surfaces:
        needle = _folded(surface, signs=signs)[0]
        # Far away it would be another word that happens to be equal; unknown pieces are short.
        start = folded.find(needle, cursor, cursor + len(needle) + 64) if needle else -1
        spans.append((start, start + len(needle)) if start >= 0 else None)
        cursor = start + len(needle) if start >= 0 else cursor
    filled = _fill(spans, surfaces, len(folded) if whole else cursor)
    return [_in_text(span, origin, text) for span in filled]


def covering(spans: Sequence[Span], text: str, *, whole: bool = True) -> list[Span]:
    """Widen spans so that every character of `text` that is no space is in one; an empty span stays empty.

    What a tokenizer drops (a vowel sign, a joiner, a selector of emoji) belongs to the token before it; where a space stands
    between them, to the token behind. `whole` says that the text was not cut: then that holds for its ends, too.

    >>> covering([(1, 2), (5, 6)], "\u200ba\u0947 \u200db\u200d")
    [(0, 3), (4, 7)]
    """
    full = sorted({span for span in spans if span[0] < span[1]})
    starts, ends, reach = {}, {}, 0
    for start, end in full:
        gap = text[reach:start]
        behind = len(gap.rstrip()) == len(gap) and not text[start].isspace()
        # Without a space, all of a gap belongs to the token before it.
        tail = len(gap.split()[-1]) if behind and gap and (not reach or gap.split() != [gap]) else 0
        head = len(gap[: len(gap) - tail].rstrip())
        if reach:
            ends[reach] = reach + head
        if reach or whole:
            starts.setdefault(start, start - (tail if reach else len(gap.lstrip())))
        reach = max(reach, end)
    if reach:
        ends[reach] = reach + len(text[reach:].rstrip()) if whole else _with_marks(text, reach, len(text))
    return [(starts.get(start, start), ends.get(end, end)) if start < end else (start, end) for start, end in spans]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def _with_marks(text: str, end: int, stop: int) -> int:
    """Move `end` past the marks that follow, which belong to the character before them; at most to `stop`."""
    while end < stop and _is_mark(text[end]):
        end += 1
    return end


def _folded(text: str, *, signs: bool) -> tuple[str, list[int]]:
    """Fold `text` to characters without case, space or compatibility forms, and say for each its index in `text`.

    signs  whether marks are kept that combine with nothing, such as the vowel signs of India; accents are dropped
    """
    characters, origin = [], []
    for index, character in enumerate(text):
        for plain in unicodedata.normalize("NFKD", character).casefold():
            # Marks are dropped: an accent may be one character in the text and two in the vocabulary, or the reverse.
            dropped = _is_mark(plain) and (unicodedata.combining(plain) or not signs)
            if not plain.isspace() and not dropped and plain not in "▁\ufffd":
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
    return origin[start], _with_marks(text, origin[end - 1] + 1, origin[end] if end < len(origin) else len(text))
