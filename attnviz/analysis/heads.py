"""What one head does, in numbers: where its attention goes, how spread it is, its strongest link."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.view import HeadMatrix
from attnviz.trace import Token


@dataclass(frozen=True)
class Link:
    """One cell of a matrix: the query's and the key's position, and the weight between them."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True)
class HeadSummary:
    """Shares of a head's attention, 0 to 1, each a mean over the queries that are not special tokens.

    itself, previous, following  what a token gives to itself, to the token before it, to the token after it
    special  what goes to special tokens
    first    what goes to the very first token: where a decoder parks attention it has no use for (Xiao et al. 2023)
    entropy  of the rows, in bits: 0 looks at one token, log2(n) at all n alike
    """

    itself: float
    previous: float
    following: float
    special: float
    first: float
    entropy: float


def is_word(token: Token) -> bool:
    """A token with a letter or a digit in it: neither special nor punctuation."""
    return not token.special and any(character.isalnum() for character in token.text)


def strongest_link(matrix: HeadMatrix) -> Link | None:
    """The largest weight between two different words; None where no two words look at each other."""
    words_only = np.outer([is_word(token) for token in matrix.queries], [is_word(token) for token in matrix.keys])
    if matrix.queries == matrix.keys:
        np.fill_diagonal(words_only, False)
    weights = np.where(words_only, matrix.weights, 0)
    query, key = np.unravel_index(int(weights.argmax()), weights.shape)
    weight = float(weights[query, key])
    return Link(int(query), int(key), weight) if weight > 0 else None


def received(matrix: HeadMatrix) -> Float[np.ndarray, " key"]:
    """Attention that each key receives: the mean over the queries."""
    return matrix.weights.mean(axis=0)


def summarize(matrix: HeadMatrix) -> HeadSummary:
    """Where the attention of a head over one sequence goes."""
    rows = [index for index, token in enumerate(matrix.queries) if not token.special] or list(range(len(matrix.queries)))
    weights = matrix.weights[rows]
    square = len(matrix.queries) == len(matrix.keys)

    def diagonal(offset: int) -> float:
        if not square:
            return 0.0
        cells = [matrix.weights[row, row + offset] for row in rows if 0 <= row + offset < len(matrix.keys)]
        return float(np.mean(cells)) if cells else 0.0

    special = [index for index, token in enumerate(matrix.keys) if token.special]
    return HeadSummary(
        itself=diagonal(0),
        previous=diagonal(-1),
        following=diagonal(1),
        special=float(weights[:, special].sum(axis=1).mean()),
        first=float(weights[:, 0].mean()),
        entropy=float(entropy(weights).mean()),
    )


def entropy(weights: Float[np.ndarray, "query key"]) -> Float[np.ndarray, " query"]:
    """H = -Σ p log2 p of each row, in bits."""
    logs = np.log2(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logs).sum(axis=1)
