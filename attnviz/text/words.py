"""Where the words of a text stand, in characters, how a piece of a text is named, and whether its words seem to be English."""

import bisect
import itertools
import unicodedata
from dataclasses import dataclass
from typing import Any

import regex

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
# A byte that is no visible letter stands in a byte-level vocabulary as one of the letters from U+0100 on.
_SHOWN = (*range(33, 127), *range(161, 173), *range(174, 256))
_BYTES = {chr(byte): byte for byte in _SHOWN} | {chr(256 + n): b for n, b in enumerate(sorted({*range(256)} - {*_SHOWN}))}
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
    """Make the white space of a text visible; what has nothing else that anybody sees is named by its characters. Not escaped.

    >>> visible_text("a\\nb"), visible_text("a\\tb"), visible_text(""), visible_text("\\u200b")
    ('a↵b', 'a⇥b', '␣', 'U+200B')
    """
    shown = text.replace("\r\n", "↵").replace("\n", "↵").replace("\r", "↵").replace("\t", "⇥")
    letters = "".join(shown.split())
    return (shown if visible(letters) else " ".join(f"U+{ord(letter):04X}" for letter in letters)) or "␣"


def named_bytes(piece: str) -> str:
    """Name the bytes of a piece in hexadecimal: of a byte-level vocabulary (Radford et al. 2019), or of one as <0xE6>."""
    letters = piece.lstrip("Ġ")
    if set(letters) <= _BYTES.keys() and not piece.startswith("<0x"):
        return " ".join(f"{_BYTES[letter]:02X}" for letter in letters)
    return piece.removeprefix("<0x").removesuffix(">")


def piece_label(piece: str, text: str) -> str:
    """Name a piece of a vocabulary by its text, with its spaces seen; part of a letter by its bytes; without text by itself.

    >>> piece_label("Ġcat", " cat"), piece_label("Ġ", " "), piece_label("</s>", "")
    ('cat', '␣', '</s>')
    >>> [piece_label(piece, "\N{REPLACEMENT CHARACTER}") for piece in ("Ø", "Ġä½", "<0xE6>")]
    ['part of a letter (D8)', 'part of a letter (E4 BD)', 'part of a letter (E6)']
    """
    if "\ufffd" in text:
        return f"part of a letter ({named_bytes(piece)})"
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
