"""What a class and its students are called: the code on the wall, nicknames that may be shown, and secrets."""

import hashlib
import hmac
import re
import secrets
import unicodedata

from attnviz.core.errors import ClassError, is_unicode
from attnviz.text.words import visible

# Consonants: hardly a word can be made of them, and none looks like another letter or a digit.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 4
# What is an abbreviation of a rude word, or of a cruel group, without its vowels.
_RUDE_CODES = ("CNT", "DCK", "FCK", "FGT", "KCK", "NGR", "NZS", "PRN", "SHT", "TWT", "WTF")


def new_code() -> str:
    """Draw the code of a class: four different letters, one of some 116,000.

    >>> len(set(new_code()))
    4
    """
    while True:
        code = "".join(secrets.SystemRandom().sample(LETTERS, LENGTH))
        if not any(word in code for word in _RUDE_CODES):
            return code


def read_code(typed: str) -> str:
    r"""Read a code as it was typed: small letters, spaces, hyphens and what is invisible do not matter; empty: it is none.

    >>> read_code(" kr-tf\u200b"), read_code("it's")
    ('KRTF', '')
    """
    letters = re.sub(r"[\s-]", "", visible(typed)).upper() if len(typed) <= 40 else ""
    return letters if len(letters) == LENGTH and set(letters) <= set(LETTERS) else ""


def new_token() -> str:
    """Draw a secret of 144 bits that can stand in an address."""
    return secrets.token_urlsafe(18)


def token_hash(token: str) -> str:
    """Hash a secret as the store keeps it: who reads the store cannot act as anybody."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def is_token(token: str, stored_hash: str) -> bool:
    """Compare a secret with a kept hash, in a time that tells nothing."""
    return hmac.compare_digest(token_hash(token), stored_hash)


LONGEST_NICKNAME = 20
# What joins the letters of Persian and Hindi, and the parts of an emoji.
_JOINERS = "\u200c\u200d"
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
    kept = "".join(each for each in typed[:200] if each.isspace() or each in _JOINERS or unicodedata.category(each)[0] != "C")
    name = " ".join(kept.split()) if visible(kept).strip() else ""
    if len(name) > LONGEST_NICKNAME:
        raise ClassError(f"A nickname has at most {LONGEST_NICKNAME} characters: choose a shorter one.")
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_DIGITS)
    bare = re.sub(r"(.)\1+", r"\1", re.sub(r"[^a-z]", "", letters))
    if any(word in bare for word in _RUDE_NAMES):
        raise ClassError("Choose another nickname.")
    return name
