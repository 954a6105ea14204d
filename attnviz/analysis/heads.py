"""What one head does, in numbers: where its attention goes, how spread it is, its strongest link."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int

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
    """A token with a letter or a digit in it: neither special nor punctuation.

    >>> [is_word(Token(text, 0, len(text))) for text in ("it", "'", "3.5", "…")]
    [True, False, True, False]
    """
    return not token.special and any(character.isalnum() for character in token.text)


def strongest_link(matrix: HeadMatrix) -> Link | None:
    """The largest weight between two different words; None where no two words look at each other.

    A token's link to itself, and to another token of its own word, is not one between two words.
    """
    weights = np.where(_between_words(matrix.queries, matrix.keys, matrix.own), matrix.weights, 0)
    query, key = np.unravel_index(int(weights.argmax()), weights.shape)
    weight = float(weights[query, key])
    return Link(int(query), int(key), weight) if weight > 0 else None


def telling_cell(matrix: HeadMatrix) -> tuple[int, int]:
    """The (row, column) to look at first: the strongest link between words, else what the first typed token looks at most."""
    if link := strongest_link(matrix):
        return link.query, link.key
    row = next((index for index, token in enumerate(matrix.queries) if not token.special), 0)
    return row, int(matrix.weights[row].argmax())


def received(matrix: HeadMatrix) -> Float[np.ndarray, " key"]:
    """Attention that each key receives: the mean over the queries."""
    return matrix.weights.mean(axis=0)


def summarize(matrix: HeadMatrix) -> HeadSummary:
    """Where the attention of a head goes. Between two texts no token has itself, one before or one after: these are 0."""
    rows = _spoken(matrix)
    weights = matrix.weights[rows]

    def diagonal(offset: int) -> float:
        own = [(row, column + offset) for row in rows if (column := matrix.own[row]) is not None]
        cells = [matrix.weights[row, column] for row, column in own if 0 <= column < len(matrix.keys)]
        return float(np.mean(cells)) if cells else 0.0

    special = [index for index, token in enumerate(matrix.keys) if token.special]
    return HeadSummary(
        itself=diagonal(0),
        previous=diagonal(-1),
        following=diagonal(1),
        special=float(weights[:, special].sum(axis=1).mean()),
        first=float(weights[:, 0].mean()) if matrix.columns[0] == 0 else 0.0,
        entropy=mean_entropy(matrix),
    )


def near_diagonal(matrix: HeadMatrix) -> float:
    """What a query gives to itself and the tokens next to it, 0 to 1: the mean over the queries that are not special tokens."""
    rows, columns = _own_cells(matrix)
    if not len(rows):
        return 0.0
    shares = np.zeros(len(rows))
    for step in (-1, 0, 1):
        near = columns + step
        inside = (near >= 0) & (near < len(matrix.keys))
        shares[inside] += matrix.weights[rows[inside], near[inside]]
    return float(shares.mean())


def mean_distance(matrix: HeadMatrix) -> float | None:
    """How far a head looks, in tokens: the mean over queries of Σ w·|query - key| / Σ w. None between two texts.

    Special tokens as queries do not count.

    >>> from attnviz.trace import AttentionMap, DenseWeights
    >>> from attnviz.analysis.view import head_matrix
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[1, 0], [0.5, 0.5]]]),)))
    >>> mean_distance(head_matrix(attention, layer=0, head=0))
    0.25
    """
    rows, columns = _own_cells(matrix)
    if not len(rows):
        return None
    weights = matrix.weights[rows]
    steps = np.abs(np.arange(len(matrix.keys), dtype=np.float32) - columns[:, None].astype(np.float32))
    total = weights.sum(axis=1)
    return float(np.mean(np.einsum("qk,qk->q", weights, steps) / np.where(total > 0, total, 1)))


def mean_entropy(matrix: HeadMatrix) -> float:
    """The entropy of a head in bits: the mean over the queries that are not special tokens."""
    return float(entropy(matrix.weights[_spoken(matrix)]).mean())


def entropy(weights: Float[np.ndarray, "query key"]) -> Float[np.ndarray, " query"]:
    """H = -Σ p log2 p of each row, in bits; p is the share of what the row holds, so that hidden keys do not count.

    >>> entropy(np.array([[0.25, 0.25, 0.25, 0.25], [0, 1, 0, 0], [0.2, 0.2, 0, 0]])).tolist()
    [2.0, 0.0, 1.0]
    """
    total = weights.sum(axis=1, keepdims=True)
    shares = weights / np.where(total > 0, total, 1)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    # The sum of the terms is -0.0 for a row that looks at one token only.
    return abs((shares * logs).sum(axis=1))


def _spoken(matrix: HeadMatrix) -> list[int]:
    """The rows of what was typed; all of them where there is none."""
    return [index for index, token in enumerate(matrix.queries) if not token.special] or list(range(len(matrix.queries)))


def _own_cells(matrix: HeadMatrix) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """The rows of what was typed whose token is a key too, and the columns where it stands."""
    cells = [(row, column) for row in _spoken(matrix) if (column := matrix.own[row]) is not None]
    rows, columns = np.array(cells, dtype=int).reshape(-1, 2).T
    return rows, columns


@lru_cache(maxsize=2)  # Heads that are read one after another have their tokens in common.
def _between_words(
    queries: tuple[Token, ...], keys: tuple[Token, ...], own: tuple[int | None, ...]
) -> Bool[np.ndarray, "query key"]:
    between = np.outer([is_word(token) for token in queries], [is_word(token) for token in keys])
    names = [index if key.word is None else (key.word, key.segment) for index, key in enumerate(keys)]
    columns_of: dict[object, list[int]] = {}
    for index, name in enumerate(names):
        columns_of.setdefault(name, []).append(index)
    for query, column in enumerate(own):
        if column is not None:
            between[query, columns_of[names[column]]] = False
    between.flags.writeable = False
    return between
