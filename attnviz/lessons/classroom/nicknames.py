"""Nicknames as a class may see them on a projector."""

import re
import unicodedata

from attnviz.core.errors import ClassError, is_unicode

LONGEST_NICKNAME = 20
# Parts of names that nobody should read on a projector; letters that stand twice are one here, digits are the letters that they
# are written for.
_RUDE_NAMES = (
    "adolf", "arsch", "bastard", "bitch", "cock", "connard", "cunt", "dick", "fag", "fick", "fotze", "fuck", "gestapo",
    "hentai", "hitler", "hure", "kike", "masturb", "merde", "mierda", "milf", "nazi", "niga", "niger", "nute", "orgasm",
    "pedo", "penis", "pimel", "porn", "pusy", "puta", "putain", "rapist", "retard", "salope", "scheise", "schlampe", "sex",
    "shit", "slut", "twat", "vagina", "wank", "whore", "wichs",
)  # fmt: skip
_DIGITS = str.maketrans("013457@$!", "oleastasi")


def read_nickname(typed: str) -> str:
    """Read a nickname as it may be shown; empty: none was typed.

    Raises:
        ClassError: it holds what is no text, or what nobody should read on a projector.

    >>> read_nickname("  Ada   L. ")
    'Ada L.'
    """
    if not is_unicode(typed):
        raise ClassError("A nickname is made of letters: choose another one.")
    visible = "".join(each for each in typed[:200] if each.isspace() or unicodedata.category(each)[0] != "C")
    name = " ".join(visible.split())
    if len(name) > LONGEST_NICKNAME:
        raise ClassError(f"A nickname has at most {LONGEST_NICKNAME} characters: choose a shorter one.")
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_DIGITS)
    bare = re.sub(r"(.)\1+", r"\1", re.sub(r"[^a-z]", "", letters))
    if any(word in bare for word in _RUDE_NAMES):
        raise ClassError("Choose another nickname.")
    return name
