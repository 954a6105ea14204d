"""What someone who wrote a wrong name may have meant."""

import difflib
from collections.abc import Sequence


def nearest(written: str, known: Sequence[str]) -> list[str]:
    """List the known names that are near, nearest first, two at most.

    >>> nearest("objj", ["obj", "iobj", "nsubj"])
    ['obj', 'iobj']
    """
    by_case = {name.casefold(): name for name in known}
    return [by_case[name] for name in difflib.get_close_matches(written.casefold(), by_case, n=2, cutoff=0.7)]
