"""Words in which several translations of one sentence differ."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

_WORD = re.compile(r"\w+|[^\w\s]")


def differences(translations: Sequence[str]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Find in each translation the words that most of the others do not have at that place, as (start, end).

    Two translations are laid side by side along the longest runs of words that they share (Ratcliff & Metzener 1988).

    >>> differences(["ses vieilles amis", "ses vieux amis", "ses vieux amis"])
    (((4, 12),), (), ())
    >>> differences(["ses vieux amis"])
    ((),)
    """
    matches = [list(_WORD.finditer(text)) for text in translations]
    words = [[word[0] for word in each] for each in matches]
    unlike = [[0] * len(each) for each in words]
    for one, mine in enumerate(words):
        for other, theirs in enumerate(words):
            if one != other:
                for place in _unmatched(mine, theirs):
                    unlike[one][place] += 1
    others = len(words) - 1
    return tuple(
        tuple(word.span() for word, count in zip(each, counts, strict=True) if 2 * count > others)
        for each, counts in zip(matches, unlike, strict=True)
    )


def _unmatched(mine: list[str], theirs: list[str]) -> set[int]:
    """List the places of the words that the other translation does not have there."""
    blocks = SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
    matched = {place for block in blocks for place in range(block.a, block.a + block.size)}
    return set(range(len(mine))) - matched
