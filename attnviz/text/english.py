"""Whether a text seems to be English, by its letters and its small words."""

import itertools
import unicodedata
from typing import Any

from attnviz.text.words import Words


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
