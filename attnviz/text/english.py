"""Whether a text is English: translators of ours read nothing else."""

import unicodedata

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
