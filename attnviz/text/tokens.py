"""A text as a tokenizer cuts it: its tokens laid over its characters, and where it was cut to fit."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attnviz.core.trace import Token
from attnviz.text.words import Words

Stretch = tuple[int, int]


def align(surfaces: Sequence[str], text: str, *, whole: bool = True) -> list[Stretch]:
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
    spans: list[Stretch | None] = []
    cursor = 0
    for surface in surfaces:
        needle = _folded(surface, signs=signs)[0]
        # Far away it would be another word that happens to be equal; unknown pieces are short.
        start = folded.find(needle, cursor, cursor + len(needle) + 64) if needle else -1
        spans.append((start, start + len(needle)) if start >= 0 else None)
        cursor = start + len(needle) if start >= 0 else cursor
    filled = _fill(spans, surfaces, len(folded) if whole else cursor)
    return [_in_text(span, origin, text) for span in filled]


def covering(spans: Sequence[Stretch], text: str, *, whole: bool = True) -> list[Stretch]:
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


def own_span(piece: str, span: Stretch, text: str) -> Stretch:
    """Take from a mark that a tokenizer sets before a text the place of the text's first letter, which is the next piece's.

    Spaces alone, which some tokenizers trim from their offsets (RoBERTa), get their place back.

    >>> own_span("▁", (0, 1), "猫"), own_span("▁", (1, 2), "a 猫"), own_span("Ġ", (2, 2), "a 猫")
    ((0, 0), (1, 2), (1, 2))
    """
    start, end = span
    first = max(0, start - len(piece))
    if start == end and not piece.strip("Ġ") and text[first : first + len(piece)].isspace():
        return first, first + len(piece)
    return (start, start) if piece == "▁" and text[start:end].strip() else span


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


def _fill(spans: list[Stretch | None], surfaces: Sequence[str], end: int) -> list[Stretch]:
    """Give each run of unknown surfaces the characters between its neighbours, all of them the same span."""
    filled: list[Stretch] = []
    for index, span in enumerate(spans):
        if span is None:
            start = next((before[1] for before in reversed(spans[:index]) if before), 0)
            stop = next((after[0] for after in spans[index + 1 :] if after), end)
            span = (start, stop) if surfaces[index] else (start, start)
        filled.append(span)
    return filled


def _in_text(span: Stretch, origin: list[int], text: str) -> Stretch:
    start, end = span
    if start >= end:
        position = origin[start] if start < len(origin) else len(text)
        return position, position
    return origin[start], _with_marks(text, origin[end - 1] + 1, origin[end] if end < len(origin) else len(text))


@dataclass(frozen=True)
class Encoded:
    """A text, or a pair of texts, as a model reads it.

    inputs  what the model is called with, by name: "input_ids" and what else its tokenizer gives
    tokens  one for each input id
    cuts    for each text, the character at which it was cut to fit; None where it was read whole
    """

    inputs: dict[str, list[int]]
    tokens: tuple[Token, ...]
    cuts: tuple[int | None, ...]

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class _Row:
    """What a tokenizer says of one token, before it is laid over the text."""

    piece: str
    special: bool
    segment: int
    span: Stretch


def encode(tokenizer: Any, texts: Sequence[str], *, limit: int | None = None, target: bool = False) -> Encoded:
    """Tokenize one text or a pair of them, cut to `limit` tokens: of a pair, the longer text loses tokens first.

    `target` reads the text as the output of a translation model: some have another vocabulary, or language mark, for it.
    A mark that was typed beside the same mark of the tokenizer's own, such as the <s> of a chat's template, is read once.
    """
    options: dict[str, Any] = {
        "return_special_tokens_mask": True,
        "return_offsets_mapping": tokenizer.is_fast,
        "verbose": False,
    }
    arguments: tuple[str, ...] = () if target else tuple(texts)
    if target:
        options["text_target"] = texts[0]
    encoding = tokenizer(*arguments, **options)
    length = len(encoding["input_ids"])
    too_long = limit is not None and length > limit
    if too_long:
        encoding = tokenizer(*arguments, **options, truncation="longest_first", max_length=limit)
    rows = _fast_rows(encoding) if tokenizer.is_fast else _slow_rows(tokenizer, encoding, texts, cut=too_long)
    extra = ("special_tokens_mask", "offset_mapping", "overflowing_tokens", "num_truncated_tokens")
    inputs = {name: list(ids) for name, ids in encoding.items() if name not in extra}
    placed = _placed(rows, texts, whole=not too_long)
    for place in _doubled(rows):
        for each in (placed, *inputs.values()):
            del each[place]
    tokens = tuple(placed)
    cuts = tuple(_cut(tokens, segment, text) for segment, text in enumerate(texts)) if too_long else (None,) * len(texts)
    return Encoded(inputs, tokens, cuts)


def _doubled(rows: Sequence[_Row]) -> list[int]:
    """Find the marks that were typed beside the same mark of the tokenizer's own, the last first."""
    if sum(not row.special for row in rows) < 2:
        return []  # a mark alone is a text, too
    beside = {len(rows) - 2: rows[-1], 1: rows[0]}
    return [
        place for place, own in beside.items() if own.special and not rows[place].special and rows[place].piece == own.piece
    ]


def placed_ids(tokenizer: Any, ids: Sequence[int], text: str) -> tuple[Token, ...]:
    """Make tokens of ids that a model wrote itself, laid over the text that they spell."""
    special_ids = set(tokenizer.all_special_ids)
    special = [index in special_ids for index in ids]
    # Vocabularies are padded to a round size: a model may write an id that stands for nothing.
    pieces = [piece or f"<{index}>" for index, piece in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), strict=True)]
    spans = _with_spaces(_surfaces(tokenizer, ids, special), _spans(tokenizer, ids, pieces, special, text), text)
    rows = [_Row(*row) for row in zip(pieces, special, [0] * len(pieces), spans, strict=True)]
    return tuple(_placed(rows, (text,)))


def _with_spaces(surfaces: Sequence[str], spans: Sequence[Stretch], text: str) -> list[Stretch]:
    """Place spaces that are a token of their own behind the token before: `align`, for which they count nowhere, does not.

    >>> _with_spaces(["a", "\\n", "b"], [(0, 1), (2, 2), (2, 3)], "a\\nb")
    [(0, 1), (1, 2), (2, 3)]
    """
    placed, reached = [], 0
    for surface, (start, end) in zip(surfaces, spans, strict=True):
        is_there = surface.isspace() and text.startswith(surface, reached)
        placed.append((reached, reached + len(surface)) if is_there else (start, end))
        reached = max(reached, placed[-1][1])
    return placed


def _fast_rows(encoding: Any) -> list[_Row]:
    inner = encoding.encodings[0]
    # Special tokens belong to no text: they are counted to the one that stands before them.
    segments, last = [], 0
    for segment in inner.sequence_ids:
        last = last if segment is None else segment
        segments.append(last)
    mask = [bool(special) for special in inner.special_tokens_mask]
    return [_Row(*row) for row in zip(inner.tokens, mask, segments, inner.offsets, strict=True)]


def _slow_rows(tokenizer: Any, encoding: Any, texts: Sequence[str], *, cut: bool) -> list[_Row]:
    """Find the pieces of a tokenizer without offsets in the text, one after another."""
    ids = list(encoding["input_ids"])
    # ByT5 adds no mark of its own behind the same one that was typed, but says that it did.
    special = [bool(mark) for mark in encoding["special_tokens_mask"]][: len(ids)]
    segments = list(encoding.get("token_type_ids") or _segments_of(special, len(texts)))
    pieces = tokenizer.convert_ids_to_tokens(ids)
    spans: list[Stretch] = [(0, 0)] * len(ids)
    for segment, text in enumerate(texts):
        mine = [index for index, owner in enumerate(segments) if owner == segment]
        own = [ids[index] for index in mine], [pieces[index] for index in mine], [special[index] for index in mine]
        for index, span in zip(mine, _spans(tokenizer, *own, text, whole=not cut), strict=True):
            spans[index] = span
    return [_Row(*row) for row in zip(pieces, special, segments, spans, strict=True)]


def _spans(
    tokenizer: Any, ids: Sequence[int], pieces: Sequence[str], special: Sequence[bool], text: str, *, whole: bool = True
) -> list[Stretch]:
    """Find pieces in a text by what they spell; bytes (ByT5), which spell nothing one by one, by how many they are."""
    own = [piece for piece, mark in zip(pieces, special, strict=True) if not mark]
    if all(len(piece) == 1 for piece in own) and text.encode().startswith("".join(own).encode("latin-1", "replace")):
        places = (place for place, character in enumerate(text) for _ in character.encode())
        return [(0, 0) if mark else (place := next(places), place + 1) for mark in special]
    return align(_surfaces(tokenizer, ids, special), text, whole=whole)


def _segments_of(special: Sequence[bool], n_texts: int) -> list[int]:
    """Count the segments: the second text begins with the first typed token after special ones that follow typed ones."""
    segments, segment, seen_text = [], 0, False
    for index, is_special in enumerate(special):
        if not is_special:
            if seen_text and special[index - 1] and segment + 1 < n_texts:
                segment += 1
            seen_text = True
        segments.append(segment)
    return segments


def _surfaces(tokenizer: Any, ids: Sequence[int], special: Sequence[bool]) -> list[str]:
    """Write each token as readable text; nothing for a special one."""
    return [
        "" if mark else tokenizer.decode([index], clean_up_tokenization_spaces=False)
        for index, mark in zip(ids, special, strict=True)
    ]


def _placed(rows: Sequence[_Row], texts: Sequence[str], *, whole: bool = True) -> list[Token]:
    tokens: list[Token | None] = [None] * len(rows)
    for segment, text in enumerate(texts):
        words = Words.of(text)
        mine = [index for index, row in enumerate(rows) if row.segment == segment]
        # Tokenizers that drop accents leave them out of their offsets too, but a reader wants the word as it was typed.
        spans = [(0, 0) if rows[index].special else own_span(rows[index].piece, rows[index].span, text) for index in mine]
        wide = covering(spans, text, whole=whole)
        for index, (first, _), span in zip(mine, spans, wide, strict=True):
            tokens[index] = _token(rows[index], first, span, text, words)
    return in_words(token for token in tokens if token is not None)


def in_words(tokens: Iterable[Token]) -> list[Token]:
    """Count two words as one where their tokens share a letter: a byte-level vocabulary may cut within it.

    >>> pieces = Token("สว", 0, 2, word=0), Token("ว", 1, 2, word=1), Token("ั", 2, 3, word=1)
    >>> [token.word for token in in_words(pieces)]
    [0, 0, 0]
    """
    counted: list[Token] = []
    first: dict[tuple[int, int | None], int | None] = {}
    for token in tokens:
        last, own = counted[-1] if counted else token, (token.segment, token.word)
        if token.word is not None and token.segment == last.segment and token.start < last.end:
            first.setdefault(own, last.word)
        counted.append(replace(token, word=first[own]) if own in first else token)
    return counted


def _token(row: _Row, first: int, wide: Stretch, text: str, words: Words) -> Token:
    if row.special:
        return Token(row.piece, 0, 0, special=True, segment=row.segment)
    start, end = wide
    if stripped := (typed := text[start:end]).strip():
        # Byte-level vocabularies count the space before a word to the word; the label and its offsets leave it out.
        start += len(typed) - len(typed.lstrip())
        end = start + len(stripped)
        first = max(first, start)
    # A space that is a token of its own is shown as a space, but for the mark that vocabularies have for it.
    label = stripped or ("" if row.piece.startswith("▁") else typed) or row.piece
    return Token(label, start, end, segment=row.segment, word=words.at(first), piece="" if row.piece == label else row.piece)


def _cut(tokens: Sequence[Token], segment: int, text: str) -> int | None:
    """Find the end of what was kept of a text, None if that is all of it."""
    kept = max((token.end for token in tokens if token.segment == segment and not token.special), default=0)
    return kept if text[kept:].strip() else None
