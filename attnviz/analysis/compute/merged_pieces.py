"""The last step of a weight between words: the pieces of a word, added up over the keys and averaged over the queries."""

import numpy as np

from attnviz.analysis.compute.rounding import DECIMALS, largest_remainder, number_text
from attnviz.analysis.compute.steps import ComputationStep, Matrix, Origin, Term, summed, weight_rows
from attnviz.analysis.view import word_groups
from attnviz.core.trace import AttentionMap, Token


def word_pieces(tokens: tuple[Token, ...], position: int) -> list[int]:
    """Find the positions of all tokens of the word that a token is part of; its own, where it is of no word.

    >>> whole = Token("hi", 0, 2)
    >>> word_pieces((whole, Token("cat", 3, 6, word=1), Token("s", 6, 7, word=1)), 2), word_pieces((whole,), 0)
    ([1, 2], [0])
    """
    return next(group for group in word_groups(tokens) if position in group)


def merge_step(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> ComputationStep | None:
    """Show how the weights between the pieces of two words become one; None where both words are one piece.

    Raises:
        TraceError: there is no such layer or head.
    """
    queries, keys = word_pieces(attention.queries, query), word_pieces(attention.keys, key)
    if len(queries) == len(keys) == 1:
        return None
    weights = attention.weights(layer, head)[np.ix_(queries, keys)].astype(np.float64)
    rows, columns = (tuple(tokens[at].text for at in places) for tokens, places in
                     ((attention.queries, queries), (attention.keys, keys)))  # fmt: skip
    total = float(weights.sum())
    counts = largest_remainder(weights.ravel())
    texts, totals = weight_rows(weights)
    pieces = Matrix("α", weights, rows, columns, texts, totals=totals, size=f"{len(rows)} × {len(columns)}", weights=True)
    names = "".join(rows), "".join(columns)
    result = Matrix("word", np.array([[total / len(rows)]]), names[:1], names[1:], weights=True)
    over = f" / {len(rows)}" if len(rows) > 1 else ""
    text = f"({summed(counts)}){over} = {number_text(total)}{over} = " if over else f"{summed(counts, DECIMALS)} = "
    cells = tuple(pieces.place(row, column) for row in range(len(rows)) for column in range(len(columns)))
    origin = Origin(cells, (Term(text), Term(result.shown[0][0], "word")))
    sentence = "What a word receives is the sum over its pieces; what it gives is the mean over them."
    return ComputationStep(
        "word", "Whole words", "Σ over keys, mean over queries", sentence, (pieces, result), ("→",), {(0, 0): origin}
    )
