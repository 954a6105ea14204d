"""Two sentences compared in one head: which token of one is which of the other, and where each looks."""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from attnviz.analysis.head_metrics import focus_cell
from attnviz.analysis.view import HeadMatrix
from attnviz.core.trace import Token


def same_tokens(first: Sequence[Token], second: Sequence[Token]) -> dict[int, int]:
    """Find for each token of the first text its place in the second: the longest runs of equal tokens, in their order.

    >>> words = [[Token(word, 0, 1) for word in text.split()] for text in ("it was too tired", "so it was wide")]
    >>> same_tokens(*words)
    {0: 1, 1: 2}
    """
    texts = [[token.text for token in tokens] for tokens in (first, second)]
    blocks = SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def same_cell(first: HeadMatrix, second: HeadMatrix, query: int) -> tuple[int, int]:
    """Choose the cell of the second matrix where the query of the first looks most: at a word, and not at itself.

    The head's own most telling cell where that token is not in the second text, or looks at no other word.
    """
    row = same_tokens(first.queries, second.queries).get(query)
    if row is None:
        return focus_cell(second)
    words = np.array([not token.special for token in second.keys])
    if (own := second.own[row]) is not None:
        words[own] = False
    weights = np.where(words & second.visible[row], second.weights[row], 0)
    return (row, int(weights.argmax())) if weights.any() else focus_cell(second)
