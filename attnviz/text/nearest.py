"""What someone who wrote a wrong name may have meant."""

import difflib
from collections.abc import Sequence


def nearest(written: str, known: Sequence[str]) -> str:
    """Suggest the nearest known names in half a sentence, or the first of them where none is near.

    >>> nearest("objj", ["obj", "iobj", "nsubj"])
    'did you mean obj or iobj'
    >>> nearest("?", ["obj", "nsubj"])
    'there are obj, nsubj'
    """
    by_case = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(written.casefold(), by_case, n=2, cutoff=0.7)
    if near:
        return f"did you mean {' or '.join(by_case[name] for name in near)}"
    return f"there are {', '.join(known[:6])}{', …' if len(known) > 6 else ''}"
