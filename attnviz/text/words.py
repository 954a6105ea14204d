"""Words as Unicode cuts them (UAX #29, word boundaries), so that every script is treated alike; and which words are English."""

import bisect
import itertools
import unicodedata
from dataclasses import dataclass

import regex

# Between two boundaries lies one word, one run of space, or one mark. An ideograph has one on either side.
_BOUNDARY = regex.compile(r"\b", regex.WORD | regex.VERSION1)


def has_letters(text: str) -> bool:
    """Whether a letter or a digit is in it: what is a word, and not punctuation alone.

    >>> [has_letters(text) for text in ("it", "'", "3.5", "…")]
    [True, False, True, False]
    """
    return any(map(str.isalnum, text))


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


def seems_english(text: str) -> bool:
    """Whether nothing speaks against English: its letters are Latin, and no other language's small words outnumber its own.

    >>> [seems_english(text) for text in ("Tom sings.", "Je ne mange pas de viande.", "Ich habe das nicht.", "Я не знаю")]
    [True, False, False, False]
    """
    letters = [character for character in text if character.isalpha()]
    latin = sum("LATIN" in unicodedata.name(character, "") for character in letters)
    if letters and latin < len(letters) / 2:
        return False
    words = [text[start:end].casefold() for start, end in Words.of(text).spans]
    own = sum(word in _ENGLISH for word in words)
    others = max(sum(word in language for word in words) for language in _OTHERS)
    return others < 2 or others <= own
