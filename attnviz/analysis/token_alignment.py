"""Two sentences compared in one head: which token of one is which of the other, and where each looks."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import HeadMatrix
from attnviz.core.trace import Token

Pairs = tuple[tuple[int, int], ...]


def align_tokens(before: Sequence[Token], after: Sequence[Token], *, replaced: bool = True) -> Pairs:
    """Pair the tokens of two texts: those of equal text in order, and between them runs of one length, one by one.

    Without `replaced` only tokens of equal text are paired.

    >>> texts = [[Token(word, 0, 0) for word in text.split()] for text in ("it was too tired .", "it was really too wide .")]
    >>> align_tokens(*texts)
    ((0, 0), (1, 1), (2, 3), (3, 4), (4, 5))
    >>> align_tokens(*texts, replaced=False)
    ((0, 0), (1, 1), (2, 3), (4, 5))
    """
    texts = [[(token.text, token.special) for token in tokens] for tokens in (before, after)]
    pairs: list[tuple[int, int]] = []
    for step, start, stop, first, last in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if step == "equal" or (replaced and step == "replace" and stop - start == last - first):
            pairs += zip(range(start, stop), range(first, last), strict=True)
    return tuple(pairs)


def same_cell(first: HeadMatrix, second: HeadMatrix, query: int) -> tuple[int, int]:
    """Choose the cell of the second matrix where the query of the first looks most: at a word, and not at itself.

    The head's own most telling cell where that token is not in the second text, or looks at no other word.
    """
    row = dict(align_tokens(first.queries, second.queries, replaced=False)).get(query)
    if row is None:
        return focus_cell(second)
    words = np.array([not token.special for token in second.keys])
    if (own := second.own[row]) is not None:
        words[own] = False
    weights = np.where(words & second.visible[row], second.weights[row], 0)
    return (row, int(weights.argmax())) if weights.any() else focus_cell(second)
