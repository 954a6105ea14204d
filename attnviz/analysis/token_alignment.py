"""Two texts compared: which token of one is which of the other."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from attnviz.core.trace import Token

Pairs = tuple[tuple[int, int], ...]


def align_tokens(before: Sequence[Token], after: Sequence[Token]) -> Pairs:
    """Pair the tokens of two texts: those of equal text in order, and between them runs of one length, one by one.

    >>> texts = [[Token(word, 0, 0) for word in text.split()] for text in ("it was too tired .", "it was really too wide .")]
    >>> align_tokens(*texts)
    ((0, 0), (1, 1), (2, 3), (3, 4), (4, 5))
    """
    texts = [[(token.text, token.special) for token in tokens] for tokens in (before, after)]
    pairs: list[tuple[int, int]] = []
    for step, start, stop, first, last in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if step == "equal" or (step == "replace" and stop - start == last - first):
            pairs += zip(range(start, stop), range(first, last), strict=True)
    return tuple(pairs)
