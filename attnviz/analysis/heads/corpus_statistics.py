"""What is kept of a corpus, however large it is: statistics of a constant size, which merge.

Two halves merged are the whole: counts exactly, sums up to the rounding of float64.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.heads.measures import FURTHEST, MEASURES, TokenPlaces, distance_histogram
from attnviz.core.errors import CorpusError
from attnviz.core.trace import AttentionMap

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
        """The standard error of each mean, where texts are what was drawn: √Σ(s - R n)² / Σ n (Cochran 1977, chapter 6)."""
        means = self.means
        n = self.row_squares[:, None, None]
        spread = self.text_squares - 2 * means * self.cross + means**2 * n
        return np.sqrt(np.maximum(spread, 0)) / np.where(self.rows, self.rows, np.nan)[:, None, None]

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
