"""What one head does, in numbers: where its attention goes, how spread it is, its strongest link."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.head_view import HeadMatrix
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, Token
from attnviz.core.weights import QueryKeyWeights, Slab
from attnviz.text.words import has_letters

# So many weights at a time: what is made of them on the way stays in the processor's cache, however long the text.
SLAB_CELLS = 262_144


@dataclass(frozen=True)
class Link:
    """One cell of a matrix: the query's and the key's position, and the weight between them."""

    query: int
    key: int
    weight: float


@dataclass(frozen=True)
class HeadNumbers:
    """What a small picture of a head is labelled with.

    entropy   of the rows, in bits, the mean over the queries that are not special tokens
    link      the strongest between two different words; None where no two words look at each other
    near      what a query gives to itself and its neighbours, 0 to 1, the mean over the same queries; 0 between two texts
    distance  how far the head looks, in tokens: the mean over queries of Σ w·|query - key| / Σ w; None between two texts
    """

    entropy: float
    link: Link | None
    near: float
    distance: float | None

    @property
    def note(self) -> dict[str, object]:
        """Write the numbers as the explorer reads and sorts them; of two texts there is no diagonal and no distance."""
        link, distance = self.link, self.distance
        return {
            "entropy": round(self.entropy, 3),
            "link": [link.query, link.key, round(link.weight, 4)] if link else None,
            "diagonal": None if distance is None else round(self.near, 4),
            "distance": None if distance is None else round(distance, 3),
        }


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
    """Tell words from punctuation and special tokens: a word has a letter or a digit in it.

    >>> [is_word(Token(text, 0, len(text))) for text in ("it", "'", "3.5", "…")]
    [True, False, True, False]
    """
    return not token.special and has_letters(token.text)


class HeadMeter:
    """Measures a head some rows at a time, as they are computed: those of a long text are not all kept.

    queries, keys, own  as of `HeadMatrix`
    """

    def __init__(self, queries: tuple[Token, ...], keys: tuple[Token, ...], own: tuple[int | None, ...]) -> None:
        self._typed = _typed_indices(_Same(queries))
        self._rows, self._columns = _cells(_Same(queries), _Same(own))
        self._n_places = _n_places(_Same(own), len(keys))
        self._between = _between_words(_Same(queries), _Same(keys), _Same(own))
        self._link: Link | None = None
        none = np.zeros(0, np.float32)
        self._bits: list[np.ndarray] = [none]
        self._near: list[np.ndarray] = [none]
        self._distances: list[np.ndarray] = [none]

    def add(self, slab: Slab) -> None:
        """Measure the next rows."""
        start, weights = slab.rows.start, slab.weights
        self._link = _stronger(self._link, slab, self._between)
        typed = self._typed[_inside(self._typed, slab.rows)] - start
        known = None if slab.entropy is None else slab.entropy[typed] / np.float32(math.log(2))
        self._bits.append(entropy(weights[_run(typed)]) if known is None else known)
        own = _inside(self._rows, slab.rows)
        if len(rows := self._rows[own] - start):
            weights = weights[:, : self._n_places]
            self._near.append(_near(weights, rows, self._columns[own]))
            self._distances.append(_distances(weights[_run(rows)], self._columns[own].astype(np.float32)))

    def numbers(self) -> HeadNumbers:
        """Sum up all rows that were added."""
        bits, near, far = (np.concatenate(each) for each in (self._bits, self._near, self._distances))
        is_one_text = len(self._rows) > 0
        return HeadNumbers(
            float(bits.mean()),
            self._link,
            float(near.mean()) if is_one_text else 0.0,
            float(far.mean()) if is_one_text else None,
        )


def measure(matrix: HeadMatrix) -> HeadNumbers:
    """Measure a head whose matrix there is.

    >>> from attnviz.core.trace import AttentionMap, DenseWeights
    >>> from attnviz.analysis.head_view import head_matrix
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[1, 0], [0.5, 0.5]]]),)))
    >>> measure(head_matrix(attention, layer=0, head=0))
    HeadNumbers(entropy=0.5, link=Link(query=1, key=0, weight=0.5), near=1.0, distance=0.25)
    """
    meter = HeadMeter(matrix.queries, matrix.keys, matrix.own)
    for slab in matrix_slabs(matrix):
        meter.add(slab)
    return meter.numbers()


def strongest_link(matrix: HeadMatrix) -> Link | None:
    """Find the largest weight between two different words; None where no two words look at each other.

    A token's link to itself, and to another token of its own word, is not one between two words.
    """
    between = _between_words(_Same(matrix.queries), _Same(matrix.keys), _Same(matrix.own))
    strongest = None
    for slab in matrix_slabs(matrix):
        strongest = _stronger(strongest, slab, between)
    return strongest


def _stronger(strongest: Link | None, slab: Slab, between: Bool[np.ndarray, "query key"]) -> Link | None:
    """Find the largest weight between two words, among the strongest so far and some more rows."""
    weights, least = slab.weights, strongest.weight if strongest else 0
    # Cells that are no link are cleared only where there is a larger weight than what was found.
    if weights.max() <= least:
        return strongest
    links = np.where(between[slab.rows, : weights.shape[1]], weights, 0)
    row, key = divmod(int(links.argmax()), links.shape[1])
    weight = float(links[row, key])
    return Link(slab.rows.start + row, key, weight) if weight > least else strongest


def summarize(matrix: HeadMatrix) -> HeadSummary:
    """Sum up where a head's attention goes. Between two texts no token has itself, one before or one after: these are 0."""
    rows, n_places = _typed_indices(_Same(matrix.queries)), _n_places(_Same(matrix.own), len(matrix.keys))
    weights = matrix.weights[rows]

    def diagonal(offset: int) -> float:
        own = [(row, column + offset) for row in rows if (column := matrix.own[row]) is not None]
        cells = [matrix.weights[row, column] for row, column in own if 0 <= column < n_places]
        return float(np.mean(cells)) if cells else 0.0

    special = [index for index, token in enumerate(matrix.keys) if token.special]
    return HeadSummary(
        itself=diagonal(0),
        previous=diagonal(-1),
        following=diagonal(1),
        special=float(weights[:, special].sum(axis=1).mean()),
        first=float(weights[:, 0].mean()) if matrix.columns[0] == 0 else 0.0,
        entropy=measure(matrix).entropy,
    )


def _near(
    weights: Float[np.ndarray, "query key"], rows: Int[np.ndarray, " n"], columns: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Sum what some rows give to their own column and the two beside it; a column behind the last one gets nothing."""
    shares = np.zeros(len(rows), np.float32)
    for step in (-1, 0, 1):
        near = columns + step
        inside = (near >= 0) & (near < weights.shape[1])
        shares[inside] += weights[rows[inside], near[inside]]
    return shares


def _distances(weights: Float[np.ndarray, "query key"], own: Float[np.ndarray, " query"]) -> Float[np.ndarray, " query"]:
    """Compute Σ w·|query - key| / Σ w of each row, whose query is the key in column `own`."""
    positions = np.arange(weights.shape[1], dtype=np.float32)
    first, last = int(own.min()), int(own.max())
    among = slice(first, last + 1)
    total = weights[:, among].sum(axis=1)
    far = np.einsum("qk,qk->q", weights[:, among], np.abs(positions[among] - own[:, None]))
    # A key before or behind all of these queries is as far as it is from the nearest of them, and that one from the query.
    for where, nearest in ((slice(first), first), (slice(last + 1, None), last)):
        beyond = np.abs(positions[where] - nearest)
        mass = weights[:, where] @ np.ones_like(beyond)
        total += mass
        far += weights[:, where] @ beyond + mass * np.abs(own - nearest)
    return far / np.where(total > 0, total, 1)


def entropy(weights: Float[np.ndarray, "*batch key"]) -> Float[np.ndarray, "*batch"]:
    """Compute H = -Σ p log2 p of each row, in bits; p is the share of what the row holds, so that hidden keys do not count.

    >>> entropy(np.array([[0.25, 0.25, 0.25, 0.25], [0, 1, 0, 0], [0.2, 0.2, 0, 0]])).tolist()
    [2.0, 0.0, 1.0]
    """
    # With p = w / t: H = log2 t - Σ w log2 w / t. A weight of 0 adds 0, whatever stands for its logarithm.
    logarithms = np.maximum(weights, np.finfo(weights.dtype).tiny)
    np.log(logarithms, out=logarithms)
    total = weights.sum(axis=-1)
    filled = np.where(total > 0, total, 1)
    nats = np.log(filled) - np.einsum("...k,...k->...", weights, logarithms) / filled
    # Rounding leaves a hair below 0 for a row that looks at one token only.
    return np.maximum(nats, 0) / np.log(weights.dtype.type(2))


def matrix_slabs(matrix: HeadMatrix) -> Iterator[Slab]:
    """Read some rows at a time; without the keys that are later than all of them in a causal head."""
    step = max(1, SLAB_CELLS // len(matrix.keys))
    for start in range(0, len(matrix.queries), step):
        rows = slice(start, min(start + step, len(matrix.queries)))
        past = rows.stop + len(matrix.keys) - len(matrix.queries) if matrix.causal else len(matrix.keys)
        yield Slab(rows, matrix.weights[rows, : max(past, 1)], None)


def _inside(sorted_rows: Int[np.ndarray, " n"], rows: slice) -> slice:
    """Find where rows of a slab stand among some that are sorted."""
    return slice(*np.searchsorted(sorted_rows, (rows.start, rows.stop)).tolist())


def _run(rows: Int[np.ndarray, " n"]) -> slice | Int[np.ndarray, " n"]:
    """Rows to read, without a copy where they are neighbours."""
    is_run = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows)
    return slice(int(rows[0]), int(rows[-1]) + 1) if is_run else rows


class _Same:
    """A key of a cache that is equal to itself alone: two thousand tokens are not compared one by one."""

    def __init__(self, value: tuple) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


# Heads that are read one after another have their tokens in common.
@lru_cache(maxsize=2)
def _typed_indices(query_tokens: _Same) -> Int[np.ndarray, " n"]:
    rows = [index for index, token in enumerate(query_tokens.value) if not token.special]
    return np.array(rows or range(len(query_tokens.value)))


@lru_cache(maxsize=2)
def _cells(query_tokens: _Same, own_columns: _Same) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    own = own_columns.value
    cells = [(row, own[row]) for row in _typed_indices(query_tokens) if own[row] is not None]
    rows, columns = np.array(cells, dtype=int).reshape(-1, 2).T
    return rows, columns


@lru_cache(maxsize=2)
def _n_places(own_columns: _Same, n_keys: int) -> int:
    """Count the columns that have a place in the text: a sink, which stands behind the queries' own columns, has none."""
    return max((column + 1 for column in own_columns.value if column is not None), default=n_keys)


@lru_cache(maxsize=2)
def _between_words(query_tokens: _Same, key_tokens: _Same, own_columns: _Same) -> Bool[np.ndarray, "query key"]:
    queries, keys, own = query_tokens.value, key_tokens.value, own_columns.value
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


@dataclass(frozen=True)
class Score:
    """weight = softmax over keys of (product · scaling), 0 where the key is masked; `dim` is the size of the two vectors."""

    product: float
    scaling: float
    weight: float
    dim: int

    @property
    def scaled(self) -> float:
        return self.product * self.scaling


def score(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> Score | None:
    """Read the dot product behind a weight; None where the weight is not the softmax of a plain scaled dot product.

    Raises:
        TraceError: there is no such layer, head, query or key.

    >>> import numpy as np
    >>> from attnviz.core.trace import Token
    >>> from attnviz.core.weights import QueryKeyLayer
    >>> vectors = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, QueryKeyWeights((QueryKeyLayer(vectors, vectors, 0.5),)))
    >>> link = score(attention, layer=0, head=0, query=0, key=1)
    >>> link.product, link.scaled, round(link.weight, 4)
    (11.0, 5.5, 0.9526)
    """
    weights = attention.weights(layer, head)
    for axis, index, size in zip(("query", "key"), (query, key), weights.shape, strict=True):
        if not 0 <= index < size:
            raise TraceError(f"There is no {axis} {index}: {attention.kind} attention has {size}.")
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    vectors = attention.store.layers[layer]
    if vectors.bias is not None or vectors.softcap is not None or vectors.sink is not None:
        return None
    group = vectors.query.shape[0] // vectors.key.shape[0]
    product = float(vectors.query[head, query] @ vectors.key[head // group, key])
    return Score(product, vectors.scaling, float(weights[query, key]), vectors.query.shape[2])
