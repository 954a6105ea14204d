"""Words as Unicode cuts them (UAX #29, word boundaries), so that every script is treated alike."""

import bisect
import itertools
from dataclasses import dataclass

import regex

# Between two boundaries lies one word, one run of space, or one mark. An ideograph has one on either side.
_BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)
_INVISIBLE = regex.compile(r"[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]")


def has_letters(text: str) -> bool:
    """Whether a letter or a digit is in it: what is a word, and not punctuation alone.

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
        # The string's ends are no boundary where they touch no word character, but a word may still end there.
        marks = sorted({0, len(text), *(match.start() for match in _BOUNDARY.finditer(text))})
        spans = itertools.pairwise(marks)
        return cls(tuple((start, end) for start, end in spans if not text[start:end].isspace()))

    def at(self, position: int) -> int | None:
        """Find the number of the word that holds the character at `position`, None where that is between two words."""
        index = bisect.bisect_right(self.spans, (position, float("inf"))) - 1
        return index if index >= 0 and position < self.spans[index][1] else None
