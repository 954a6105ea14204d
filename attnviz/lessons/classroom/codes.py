"""The words that open a class: codes that can be read aloud, and secrets that cannot be guessed."""

import hashlib
import hmac
import re
import secrets

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


def is_token(token: str, kept: str) -> bool:
    """Compare a secret with a kept hash, in a time that tells nothing."""
    return hmac.compare_digest(token_hash(token), kept)
