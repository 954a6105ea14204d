"""Words, spans and tokens of a text, in characters; and what a tokenizer makes of it."""

import bisect
import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import regex
import sentencex
from jaxtyping import Float

from attnviz.core.trace import Token

# The word boundaries of UAX #29 in properties that Python and every browser have, so that both cut alike: what browsers cut by
# themselves differs from one to the next. attnviz/live/web/models/bert_tokens.js has the same expression; a test compares them.
# What is not joined to its neighbours: ideographs, and letters of scripts whose words only a dictionary finds. An apostrophe
# stays with a vowel after it ("l'eau" is one word in any case).
_EXTEND = r"(?:(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u200b])[\p{M}\p{Cf}\p{Emoji_Modifier}\uff9e\uff9f])*"
_APART = (
    r"[\p{M}\p{Ideographic}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}"
    r"\p{sc=Tai_Le}\p{sc=New_Tai_Lue}\p{sc=Tai_Tham}\p{sc=Tai_Viet}\p{sc=Ahom}\u3031-\u3035\u30fc\uff70\uff9e\uff9f]"
)
_LETTER = (
    r"(?:(?!" + _APART + r")[\p{Alphabetic}\u00b8\u02c2-\u02c5\u02d2-\u02d7\u02de-\u02ff"
    r"\u055a-\u055c\u055e\u058a\u05f3\u070f\ua708-\ua721\ua789\ua78a\uab5b])" + _EXTEND
)
_DIGIT = r"[\p{Nd}\u0600-\u0605\u066b\u06dd\u0890\u0891\u08e2\u19da]" + _EXTEND
_KANA = r"[\p{sc=Katakana}\u3031-\u3035\u309b\u309c\u30a0\u30fc\uff70]" + _EXTEND
_JOINER = r"[\p{Pc}\u202f]" + _EXTEND
_IN_LETTERS = r"[.:'\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a]" + _EXTEND
_IN_DIGITS = (
    r"[.,;'\u037e\u0589\u060c\u060d\u066c\u07f8\u2018\u2019\u2024\u2044\ufe50\ufe52\ufe54\uff07\uff0c\uff0e\uff1b]" + _EXTEND
)
_LETTERS = rf'{_LETTER}(?:(?:{_IN_LETTERS})?{_LETTER}|(?<=\p{{sc=Hebrew}}\p{{M}}*)"{_EXTEND}(?=\p{{sc=Hebrew}}))*'
_DIGITS = rf"{_DIGIT}(?:(?:{_IN_DIGITS})?{_DIGIT})*"
_RUN = rf"(?:(?:{_LETTERS}|{_DIGITS})+|(?:{_KANA})+)"
_WORD = rf"(?:(?:{_JOINER})+(?:{_RUN}(?:{_JOINER})*)*|{_RUN}(?:(?:{_JOINER})+{_RUN})*(?:{_JOINER})*)"
_REST = (
    r"\p{Regional_Indicator}" + _EXTEND + r"\p{Regional_Indicator}" + _EXTEND + r"|\r\n|[\n\r\u000b\u000c\u0085\u2028\u2029]|"
    r"[ \u1680\u2000-\u2006\u2008-\u200a\u205f\u3000]+" + _EXTEND + r"|[\s\S]" + _EXTEND
)
_VOWEL = "[aàáâeèéêiìíîoòóôuùúûAÀÁÂEÈÉÊIÌÍÎOÒÓÔUÙÚÛ]"
# What stands between two boundaries: a word, a run of space, or a mark.
PIECE = regex.compile(
    rf"(?:['\u2019](?={_VOWEL}){_WORD}|{_WORD}|{_REST})(?:(?<=\u200d)\p{{Extended_Pictographic}}{_EXTEND})*", regex.VERSION1
)
_INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]")


def has_letters(text: str) -> bool:
    """Say whether a letter or a digit is in it: what is a word, and not punctuation alone.

    >>> [has_letters(text) for text in ("it", "'", "3.5", "…")]
    [True, False, True, False]
    """
    return any(map(str.isalnum, text))


def visible(text: str) -> str:
    r"""Leave out the characters that nobody sees, such as a joiner that was copied along, or that a script joins letters by.

    >>> visible("a\u2060 cat\u00ad")
    'a cat'
    """
    return _INVISIBLE.sub("", text)


def visible_text(text: str) -> str:
    """Make the white space of a text visible. Not escaped.

    >>> visible_text("a\\nb"), visible_text("a\\tb"), visible_text("")
    ('a↵b', 'a⇥b', '␣')
    """
    shown = text.replace("\r\n", "↵").replace("\n", "↵").replace("\r", "↵").replace("\t", "⇥")
    return shown if shown.strip() else "␣"


def piece_label(piece: str, text: str) -> str:
    """Name a piece of a vocabulary by its text, in which spaces are seen; where it has none, or part of a letter, by itself.

    >>> piece_label("Ġcat", " cat"), piece_label("Ġ", " "), piece_label("</s>", "")
    ('cat', '␣', '</s>')
    >>> piece_label("Ø", "\N{REPLACEMENT CHARACTER}")
    'part of a letter (Ø)'
    """
    if "\ufffd" in text:
        return f"part of a letter ({piece})"
    return visible_text(text.strip(" ")) if text else piece


@dataclass(frozen=True)
class Words:
    """Where the words of a text start and end, in the order of the text; spaces between them belong to none.

    >>> Words.of("It didn't rain.").spans
    ((0, 2), (3, 9), (10, 14), (14, 15))
    """

    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> "Words":
        """Cut `text` at the word boundaries of Unicode Standard Annex #29."""
        return cls(tuple(piece.span() for piece in PIECE.finditer(text) if not piece[0].isspace()))

    def at(self, position: int) -> int | None:
        """Find the number of the word that holds the character at `position`, None where that is between two words."""
        index = bisect.bisect_right(self.spans, (position, float("inf"))) - 1
        return index if index >= 0 and position < self.spans[index][1] else None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Small words that are commonest in each language: a text in another one has several of its own and few of these.
_ENGLISH = _words(
    "the and is are was were of to in it that he she they you we his her their this with have has had not be been do does did "
    "what who how where there from would could should can will my your at by for don't doesn't isn't it's i'm let's"
)
_OTHERS = (
    _words("le la les un une des du et est sont je tu il elle nous vous ne pas que qui dans pour avec sur au aux ce ça"),
    _words("der die das ein eine und ist sind ich du er sie wir ihr nicht mit auf für von den dem zu im auch wie"),
    _words("el los las una y es son yo ella nosotros no que en con por para del su muy pero como está"),
    _words("il lo gli una e è sono io lei noi non che di con per del della su molto ma come"),
    _words("o os as um uma e é são eu ele ela nós não que em com por para do da muito mas como"),
)
# In a text of a few words one is enough: of these no English sentence has any, of the articles none before a small letter.
_FOREIGN = _words("je nous vous suis avec dans ich nicht ist sind und auch wir yo ella nosotros está sono gli ele ela não são")
_ARTICLES = _words("le la une der ein eine el los las il uma")


def small_words() -> dict[str, list[Any]]:
    """List the words by which `seems_english` tells, for what tells it outside of Python."""
    others = [sorted(words) for words in _OTHERS]
    return {"english": sorted(_ENGLISH), "others": others, "foreign": sorted(_FOREIGN), "articles": sorted(_ARTICLES)}


def seems_english(text: str) -> bool:
    """Say whether nothing speaks against English: Latin letters, and no other language's small words outnumber its own.

    >>> [seems_english(text) for text in ("Tom sings.", "Je ne mange pas de viande.", "Ich bin hier.", "Я не знаю")]
    [True, False, False, False]
    """
    letters = [character for character in text if character.isalpha()]
    latin = sum("LATIN" in unicodedata.name(character, "") for character in letters)
    if letters and latin < len(letters) / 2:
        return False
    written = [text[start:end] for start, end in Words.of(text).spans]
    words = [word.casefold() for word in written]
    own = sum(word in _ENGLISH for word in words)
    others = max(sum(word in language for word in words) for language in _OTHERS)
    articles = any(
        one.casefold() in _ARTICLES and not one.isupper() and other[:1].islower() for one, other in itertools.pairwise(written)
    )
    if not own and (articles or not _FOREIGN.isdisjoint(words)):
        return False
    return others < 2 or others <= own


# A paragraph with the blank lines after it: together they are the whole text.
_PARAGRAPH = regex.compile(r".+?(?:\R[^\S\r\n]*\R\s*|\Z)", regex.DOTALL)


@dataclass(frozen=True)
class Sentences:
    """Where the sentences of a text start and end, in the order of the text; spaces between them belong to none.

    >>> text = "It rained, e.g. on Monday. We stayed in!"
    >>> [text[start:end] for start, end in Sentences.of(text).spans]
    ['It rained, e.g. on Monday.', 'We stayed in!']
    """

    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str, language: str = "en") -> "Sentences":
        """Cut a text; `language` decides what an abbreviation is. A line ends no sentence, a blank line does."""
        spans, at = [], 0
        # sentencex ends a sentence with every line, but a text that was pasted has its lines broken anywhere.
        for paragraph in _PARAGRAPH.findall(text):
            flat = paragraph.replace("\r", " ").replace("\n", " ")
            rows = sentencex.get_sentence_boundaries(language, flat)  # pyrefly: ignore[missing-attribute]
            spans += [_stripped(flat, at, row["start_index"], row["end_index"]) for row in rows if row["text"].strip()]
            at += len(paragraph)
        return cls(tuple(spans))

    @classmethod
    def joined(cls, sentences: Sequence[str]) -> "Sentences":
        """Place the sentences of a text that was put together from them, with one space between two.

        >>> Sentences.joined(["Oh.", "No!"]).spans
        ((0, 3), (4, 7))
        """
        spans, at = [], 0
        for sentence in sentences:
            spans.append(_stripped(sentence, at, 0, len(sentence)))
            at += len(sentence) + 1
        return cls(tuple(spans))

    def at(self, position: int) -> int:
        """Find the number of the sentence that holds the character at `position`, or the one before it; 0 where there is none.

        >>> Sentences(((0, 3), (4, 7))).at(5)
        1
        """
        return max(bisect.bisect_right(self.spans, (position, float("inf"))) - 1, 0)


def _stripped(text: str, at: int, start: int, end: int) -> tuple[int, int]:
    """Strip text[start:end] of the space around it, as it stands in a text in which `text` begins at `at`."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    return at + start + left, at + start + max(left, len(part.rstrip()))


# What a model that answers says where it does not.
DECLINED = "the passage does not say"


@dataclass(frozen=True)
class Span:
    """Tokens `start` to `end` of a passage, both included, and the probability that they are the answer, 0 to 1.

    >>> Span(2, 3, 0.5).end
    3
    """

    start: int
    end: int
    probability: float


@dataclass(frozen=True)
class Window:
    """Tokens `start` up to but not including `stop`, read in one pass.

    >>> Window(3, 8).size
    5
    """

    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


def windows(n_tokens: int, size: int, stride: int) -> tuple[Window, ...]:
    """Cut windows of `size` tokens, each `stride` after the one before; the last ends with the passage, and is as long as any.

    Raises:
        ValueError: a window has no token, or the stride leaves tokens between two windows.

    >>> windows(10, 6, 3)
    (Window(start=0, stop=6), Window(start=3, stop=9), Window(start=4, stop=10))
    """
    if not 1 <= stride <= size:
        raise ValueError(f"a stride is 1 to the window's size, {size}, not {stride}")
    last = max(0, n_tokens - size)
    starts = [*range(0, last, stride), last]
    return tuple(Window(start, min(n_tokens, start + size)) for start in starts)


def merged(parts: Sequence[tuple[Window, Float[np.ndarray, " token"]]]) -> Float[np.ndarray, " all"]:
    """Take one value for every token of a passage: from the window where the token has most to either side.

    Of two windows that show as much, the first counts.

    >>> merged([(Window(0, 4), np.zeros(4)), (Window(2, 6), np.ones(4))])
    array([0., 0., 0., 1., 1., 1.])
    """
    n_tokens = max(window.stop for window, _ in parts)
    best, most = np.full(n_tokens, -np.inf), np.full(n_tokens, -1)
    for window, values in parts:
        places = np.arange(window.start, window.stop)
        # At the passage's own ends there is nothing more to see: such an end counts as if it were far away.
        left = places - window.start + n_tokens * (window.start == 0)
        right = window.stop - 1 - places + n_tokens * (window.stop == n_tokens)
        context = np.minimum(left, right)
        better = context > most[places]
        best[places[better]], most[places[better]] = values[better], context[better]
    return best


def pair_logits(
    start_logits: Float[np.ndarray, " token"],
    end_logits: Float[np.ndarray, " token"],
    *,
    limit: int,
    length_penalty: float = 0.0,
) -> Float[np.ndarray, "token length"]:
    """Compute the logit of every span: row by its start, column by how many tokens follow that; -inf where there is none.

    It is start + end, less `length_penalty` for each token after the first: of two answers that are as likely, the start of one
    and the end of the other are as likely a span, and mostly none.

    >>> pair_logits(np.array([1.0, 2.0]), np.array([10.0, 20.0]), limit=1).tolist()
    [[11.0, 21.0], [22.0, -inf]]
    >>> pair_logits(np.array([1.0, 2.0]), np.array([10.0, 20.0]), limit=1, length_penalty=0.5).tolist()
    [[11.0, 20.5], [22.0, -inf]]
    """
    start, end = start_logits.astype(np.float64), end_logits.astype(np.float64)
    # A band, not a square: a long passage has few spans of a length that an answer has.
    following = np.concatenate([end, np.full(limit, -np.inf)])
    pairs = start[:, None] + np.lib.stride_tricks.sliding_window_view(following, limit + 1)
    return pairs - length_penalty * np.arange(limit + 1)


def best_spans(
    start_logits: Float[np.ndarray, " token"],
    end_logits: Float[np.ndarray, " token"],
    *,
    limit: int,
    n: int,
    length_penalty: float = 0.0,
    nothing: float | None = None,
) -> list[Span]:
    """Find the `n` best spans without overlap under start <= end <= start + limit, best first; fewer where there are no more.

    A span's probability is the softmax of `pair_logits` over all spans there are; `nothing` is the logit of one more
    choice, that there is no answer. Of two equal spans the first counts, and of these the shorter.

    >>> spans = best_spans(np.array([0.0, 2.0, 0.0]), np.array([0.0, 0.0, 1.0]), limit=2, n=2)
    >>> [(span.start, span.end, round(span.probability, 2)) for span in spans]
    [(1, 2, 0.58), (0, 0, 0.03)]
    """
    if not len(start_logits):
        return []
    pairs = pair_logits(start_logits, end_logits, limit=limit, length_penalty=length_penalty)
    top = max(float(pairs.max()), -np.inf if nothing is None else nothing)
    if not np.isfinite(top):
        return []
    weights = np.exp(pairs - top)
    total = float(weights.sum()) + (0.0 if nothing is None else float(np.exp(nothing - top)))
    spans: list[Span] = []
    while len(spans) < n:
        start, length = divmod(int(pairs.argmax()), limit + 1)
        if not np.isfinite(pairs[start, length]):
            break
        span = Span(start, start + length, float(weights[start, length]) / total)
        spans.append(span)
        # No other span may share a token with this one.
        for first in range(max(0, start - limit), span.end + 1):
            pairs[first, max(0, start - first) :] = -np.inf
    return spans


def marginals(
    pairs: Float[np.ndarray, "token length"], nothing: float
) -> tuple[Float[np.ndarray, " token"], Float[np.ndarray, " token"], float]:
    """Compute p(start), p(end) and p(no answer) of one softmax over all spans, as `pair_logits` gives them, and no answer.

    >>> start, end, none = marginals(pair_logits(np.zeros(2), np.zeros(2), limit=1), 0.0)
    >>> start.tolist(), end.tolist(), none
    ([0.5, 0.25], [0.25, 0.5], 0.25)
    """
    top = max(float(pairs.max()), nothing)
    weights, none = np.exp(pairs - top), float(np.exp(nothing - top))
    total = float(weights.sum()) + none
    end = np.zeros(len(pairs))
    for length, column in enumerate(weights.T[: len(pairs)]):
        end[length:] += column[: len(end) - length]
    return weights.sum(axis=1) / total, end / total, none / total


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
    spans = align(_surfaces(tokenizer, ids, special), text)
    # Vocabularies are padded to a round size: a model may write an id that stands for nothing.
    pieces = [piece or f"<{index}>" for index, piece in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), strict=True)]
    rows = [_Row(*row) for row in zip(pieces, special, [0] * len(pieces), spans, strict=True)]
    return tuple(_placed(rows, (text,)))


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
    special = [bool(mark) for mark in encoding["special_tokens_mask"]]
    segments = list(encoding.get("token_type_ids") or _segments_of(special, len(texts)))
    surfaces = _surfaces(tokenizer, ids, special)
    spans: list[Stretch] = [(0, 0)] * len(ids)
    for segment, text in enumerate(texts):
        mine = [index for index, owner in enumerate(segments) if owner == segment]
        for index, span in zip(mine, align([surfaces[index] for index in mine], text, whole=not cut), strict=True):
            spans[index] = span
    pieces = tokenizer.convert_ids_to_tokens(ids)
    return [_Row(*row) for row in zip(pieces, special, segments, spans, strict=True)]


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
        wide = covering([(0, 0) if rows[index].special else rows[index].span for index in mine], text, whole=whole)
        for index, span in zip(mine, wide, strict=True):
            tokens[index] = _token(rows[index], span, text, words)
    return [token for token in tokens if token is not None]


def _token(row: _Row, wide: Stretch, text: str, words: Words) -> Token:
    if row.special:
        return Token(row.piece, 0, 0, special=True, segment=row.segment)
    start, end = wide
    typed, first = text[start:end], row.span[0]
    if stripped := typed.strip():
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
