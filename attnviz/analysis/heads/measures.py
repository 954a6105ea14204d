"""What each row of a head's attention is like, in numbers: pure functions of the weights of one trace and its tokens.

Every measure gives one value a row (a query token that is not special), by head, and says which rows it can be taken of. A
head's value over a text, or over a corpus, is the mean over those rows.

Two halves merged are the whole: counts exactly, sums up to the rounding of float64.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.head_metrics import entropy as entropy_of_rows
from attnviz.core.errors import CorpusError
from attnviz.core.trace import AttentionMap, Token
from attnviz.text.words import has_letters

Weights = Float[np.ndarray, "head query key"]
# How far apart a query and a key may be to be told apart in the histogram of distances; what is further counts as this far.
FURTHEST = 16


@dataclass(frozen=True)
class TokenPlaces:
    """The tokens of a trace's rows and columns, and what several measures need of them.

    own  the first columns are the rows' tokens; False: rows and columns are different texts
    """

    queries: tuple[Token, ...]
    keys: tuple[Token, ...]
    own: bool = True

    @classmethod
    def of(cls, attention: AttentionMap) -> "TokenPlaces":
        """Find the places of a map."""
        own = attention.kind != "cross" and attention.keys[: len(attention.queries)] == attention.queries
        return cls(attention.queries, attention.keys, own)

    @cached_property
    def n_places(self) -> int:
        """How many columns have a place in the text: a sink, which stands behind the rows' own tokens, has none."""
        return len(self.queries) if self.own else len(self.keys)

    @cached_property
    def rows(self) -> Int[np.ndarray, " row"]:
        """The queries that are not special tokens."""
        return np.array([index for index, token in enumerate(self.queries) if not token.special], dtype=int)

    @cached_property
    def special(self) -> Bool[np.ndarray, " key"]:
        return np.array([token.special for token in self.keys], dtype=bool)

    @cached_property
    def punctuation(self) -> Bool[np.ndarray, " key"]:
        return np.array([not token.special and not has_letters(token.text) for token in self.keys], dtype=bool)

    @cached_property
    def earlier_same(self) -> Bool[np.ndarray, "row key"]:
        """Mark for each row the columns before it that hold the same token, whatever its case."""
        if not self.own:
            return np.zeros((len(self.rows), len(self.keys)), dtype=bool)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(token.text.casefold() for token in self.keys))}
        forms = np.array([numbers[token.text.casefold()] for token in self.keys])
        before = np.arange(len(forms))[None, :] < self.rows[:, None]
        return before & (forms[self.rows][:, None] == forms[None, :]) & ~self.special

    @cached_property
    def after_same(self) -> Bool[np.ndarray, "row key"]:
        """Mark for each row the columns that follow an earlier same token, itself not among them."""
        following = np.zeros_like(self.earlier_same)
        following[:, 1:] = self.earlier_same[:, :-1]
        if self.own:
            following[np.arange(len(self.rows)), self.rows] = False
        return following & ~self.special

    @cached_property
    def distances(self) -> Int[np.ndarray, "row key"]:
        """How many tokens each column is after each row's own."""
        return np.arange(len(self.keys))[None, :] - self.rows[:, None]


@dataclass(frozen=True, eq=False)
class RowValues:
    """The values of a measure: of each head and row, and which rows could be measured."""

    values: Float[np.ndarray, "head row"]
    measured: Bool[np.ndarray, " row"]


def offset(weights: Weights, places: TokenPlaces, k: int) -> RowValues:
    """Measure what a token gives to the one k further on: a_{i, i+k} (Clark et al. 2019, section 3.1, for k = -1, 1)."""
    columns = places.rows + k
    inside = (columns >= 0) & (columns < len(places.keys)) & places.own
    inside[inside] &= ~places.special[columns[inside]]
    return RowValues(weights[:, places.rows, np.where(inside, columns, 0)], inside)


def itself(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to itself: a_{i, i}."""
    return offset(weights, places, 0)


def previous(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to the one before it: a_{i, i-1}."""
    return offset(weights, places, -1)


def following(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to the one after it: a_{i, i+1}."""
    return offset(weights, places, 1)


def first(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to the very first one: a_{i, 0}, where decoders park attention (Xiao et al. 2023)."""
    return _all(places, weights[:, places.rows, 0])


def last(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to the very last one: a_{i, n-1}; in a decoder only the last row can."""
    return _all(places, weights[:, places.rows, places.n_places - 1])


def special(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to special tokens: Σ_j a_{ij} over them (Clark et al. 2019, section 3.2)."""
    return _all(places, weights[:, places.rows][:, :, places.special].sum(axis=2))


def punctuation(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what goes to punctuation: Σ_j a_{ij} over tokens without a letter or digit (Clark et al. 2019, section 3.2)."""
    return _all(places, weights[:, places.rows][:, :, places.punctuation].sum(axis=2))


def same(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token gives to earlier ones of the same text (duplicate-token heads, Wang et al. 2022, section 3.2)."""
    return _over(weights, places, places.earlier_same)


def after_same(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what goes to what followed a token earlier: the prefix-matching score (Olsson et al. 2022, induction heads)."""
    return _over(weights, places, places.after_same)


def entropy(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure how spread a row is, in bits: -Σ_j a_{ij} log2 a_{ij} (Clark et al. 2019, section 3.3)."""
    return _all(places, entropy_of_rows(weights[:, places.rows]))


def confidence(weights: Weights, places: TokenPlaces) -> RowValues:
    """Find a row's largest weight on what is no special token (Voita et al. 2019, section 4, which leaves the end out)."""
    typed = ~places.special
    if not typed.any():
        return RowValues(np.zeros((len(weights), len(places.rows))), np.zeros(len(places.rows), dtype=bool))
    return _all(places, weights[:, places.rows][:, :, typed].max(axis=2))


def distance(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure how far a row looks, in tokens: Σ_j a_{ij} |i - j| (Vig and Belinkov 2019, section 4.3)."""
    far = np.abs(places.distances[:, : places.n_places]).astype(weights.dtype)
    values = np.einsum("hqk,qk->hq", weights[:, places.rows, : places.n_places], far)
    return RowValues(values, np.full(len(places.rows), places.own))


def block(weights: Weights, places: TokenPlaces) -> RowValues:
    """Measure what a token of a pair gives to the tokens of the other text: Σ_j a_{ij} over them."""
    rows = np.array([places.queries[row].segment for row in places.rows], dtype=int)
    columns = np.array([token.segment for token in places.keys], dtype=int)
    across = (rows[:, None] != columns[None, :]) & ~places.special
    return _over(weights, places, across)


MEASURES: dict[str, Callable[[Weights, TokenPlaces], RowValues]] = {
    "self": itself, "previous": previous, "next": following, "first": first, "last": last, "special": special,
    "punctuation": punctuation, "same": same, "after same": after_same, "entropy": entropy, "confidence": confidence,
    "distance": distance, "block": block,
}  # fmt: skip


def distance_histogram(weights: Weights, places: TokenPlaces) -> Float[np.ndarray, "head bin"]:
    """Sum the weight that goes so many tokens further on, -16 to 16; what is further counts to the ends.

    Special tokens as queries and keys do not count.
    """
    typed = ~places.special
    bins = np.clip(places.distances[:, typed], -FURTHEST, FURTHEST) + FURTHEST
    rows = weights[:, places.rows][:, :, typed].reshape(len(weights), -1).astype(np.float64)
    order = np.argsort(bins, axis=None, kind="stable")
    sums = np.zeros((len(weights), 2 * FURTHEST + 1))
    present, starts = np.unique(bins.ravel()[order], return_index=True)
    if len(present):
        sums[:, present] = np.add.reduceat(rows[:, order], starts, axis=1)
    return sums


def induction(weights: Weights, period: int) -> Float[np.ndarray, " head"]:
    """Score a head on tokens whose second half repeats the first: the mean weight on what followed the same token before.

    TransformerLens' `detect_head` and Olsson et al. 2022: the mean of a_{i, i - period + 1} over i in the second half.
    """
    rows = np.arange(period, weights.shape[1])
    return weights[:, rows, rows - period + 1].mean(axis=1)


def _all(places: TokenPlaces, values: Float[np.ndarray, "head row"]) -> RowValues:
    return RowValues(values, np.ones(len(places.rows), dtype=bool))


def _over(weights: Weights, places: TokenPlaces, where: Bool[np.ndarray, "row key"]) -> RowValues:
    """Sum each row over the marked columns; rows without any are not measured."""
    return RowValues(np.einsum("hqk,qk->hq", weights[:, places.rows], where.astype(weights.dtype)), np.any(where, axis=1))


NAMES = tuple(MEASURES)
# Examples that are kept of a whole corpus.
RESERVOIR = 64
# 95 of 100 of a normal distribution lie within so many standard errors.
_Z = 1.959964


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over a corpus, by measure, layer and head. n and s are a text's number of rows and the sum of its values.

    rows, texts       how many were measured, by measure
    row_squares       Σ n², by measure
    sums, squares     Σ s, and Σ of every value's square
    text_squares      Σ s²; cross: Σ n·s; with both the error of a mean over texts is known, not only over rows
    histogram         the weight that goes so many tokens further on
    examples          of all texts those whose keyed hash is smallest, with that hash: a sample that no order changes
    """

    rows: Float[np.ndarray, " measure"]
    texts: Float[np.ndarray, " measure"]
    row_squares: Float[np.ndarray, " measure"]
    sums: Float[np.ndarray, "measure layer head"]
    squares: Float[np.ndarray, "measure layer head"]
    text_squares: Float[np.ndarray, "measure layer head"]
    cross: Float[np.ndarray, "measure layer head"]
    histogram: Float[np.ndarray, "layer head bin"]
    examples: tuple[tuple[str, str], ...] = ()
    read: int = 0
    tokens: int = 0

    @staticmethod
    def empty(n_layers: int, n_heads: int) -> "Statistics":
        """Begin with nothing."""
        by_measure, by_head = (len(NAMES),), (len(NAMES), n_layers, n_heads)
        shapes = (*[by_measure] * 3, *[by_head] * 4, (n_layers, n_heads, 2 * FURTHEST + 1))
        sums: dict[str, Any] = dict(zip(FIELDS, map(np.zeros, shapes), strict=True))
        return Statistics(**sums)

    @property
    def means(self) -> Float[np.ndarray, "measure layer head"]:
        """The mean of every measure over all rows; NaN where none was measured, and in layers without attention."""
        means = self.sums / np.where(self.rows, self.rows, np.nan)[:, None, None]
        return np.where(self.attending[:, None], means, np.nan)

    @property
    def attending(self) -> Bool[np.ndarray, " layer"]:
        """Tell which layers attend; the others mix tokens in another way, and all of their weights are 0."""
        moved = np.abs(self.histogram).sum(axis=(1, 2)) + np.abs(self.sums).sum(axis=(0, 2))
        return np.greater(moved, 0 if self.read else -1)

    @property
    def errors(self) -> Float[np.ndarray, "measure layer head"]:
        """The standard error of each mean, where texts are what was drawn; NaN of fewer than two, which tell none.

        √(Σ(s - R n)² S / (S - 1)) / Σ n over S texts (Cochran 1977, chapter 6).
        """
        means, drawn = self.means, np.where(self.texts > 1, self.texts, np.nan)
        n = self.row_squares[:, None, None]
        spread = self.text_squares - 2 * means * self.cross + means**2 * n
        freedom = (drawn / (drawn - 1))[:, None, None]
        return np.sqrt(np.maximum(spread, 0) * freedom) / np.where(self.rows, self.rows, np.nan)[:, None, None]

    @property
    def intervals(self) -> tuple[Float[np.ndarray, "measure layer head"], Float[np.ndarray, "measure layer head"]]:
        """Between which each mean lies in 95 of 100 corpora of this size."""
        return self.means - _Z * self.errors, self.means + _Z * self.errors


FIELDS = ("rows", "texts", "row_squares", "sums", "squares", "text_squares", "cross", "histogram")


def measure(attention: AttentionMap, text: str = "") -> Statistics:
    """Take every measure of one trace's map."""
    places = TokenPlaces.of(attention)
    weights = np.concatenate([attention.layer_weights(layer) for layer in range(attention.n_layers)])
    shape = (attention.n_layers, attention.n_heads)
    rows, sums, squares = np.zeros(len(NAMES)), np.zeros((len(NAMES), len(weights))), np.zeros((len(NAMES), len(weights)))
    for index, compute in enumerate(MEASURES.values()):
        measured = compute(weights, places)
        rows[index] = measured.measured.sum()
        if rows[index]:
            values = measured.values[:, measured.measured].astype(np.float64)
            sums[index], squares[index] = values.sum(axis=1), np.square(values).sum(axis=1)
    by_head = sums.reshape(-1, *shape)
    return Statistics(
        rows, (rows > 0).astype(float), rows**2, by_head, squares.reshape(-1, *shape), by_head**2,
        rows[:, None, None] * by_head, distance_histogram(weights, places).reshape(*shape, -1),
        ((priority(text), text),) if text else (), 1, len(attention.queries),
    )  # fmt: skip


def priority(text: str) -> str:
    """Hash a text: the texts with the smallest hashes are a random sample (bottom-k sampling, Cohen 1997)."""
    return hashlib.blake2b(text.encode(), digest_size=12, key=b"0").hexdigest()


def merge(*parts: Statistics) -> Statistics:
    """Add up statistics of parts of a corpus.

    Raises:
        CorpusError: they are of models of different sizes.
    """
    if len({part.histogram.shape for part in parts}) != 1:
        raise CorpusError("These surveys are of models with different heads: merge the shards of one survey.")
    sums = [np.sum([getattr(part, field) for part in parts], axis=0) for field in FIELDS]
    examples = sorted({example for part in parts for example in part.examples})[:RESERVOIR]
    read, tokens = sum(part.read for part in parts), sum(part.tokens for part in parts)
    return Statistics(**dict(zip(FIELDS, sums, strict=True)), examples=tuple(examples), read=read, tokens=tokens)
