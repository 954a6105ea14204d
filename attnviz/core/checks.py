"""What is asked of values that come from outside, and how a message names one that will not do."""


def is_unicode(value: object) -> bool:
    """Whether this is a text of whole characters: half of one (a lone surrogate) cannot be written to any file or page.

    >>> is_unicode("😀"), is_unicode(chr(0xD83D)), is_unicode(b"a")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def shortened(text: str, most: int = 40) -> str:
    """A text as one short line, between quotes.

    >>> shortened("The cat sat.", most=7)
    "'The cat'…"
    """
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"


def described(value: object) -> str:
    """A value as a message names it: its type, and of small ones what it is.

    >>> described(b"hi"), described(None), described([1, 2])
    ("bytes b'hi'", 'None', 'a list')
    """
    if value is None:
        return "None"
    kind = type(value).__name__
    if isinstance(value, str | bytes | bool | int | float):
        return f"{kind} {repr(value)[:40]}"
    return f"a{'n' if kind[:1].lower() in 'aeiou' else ''} {kind}"
