"""Why a language model writes a word: what its parts add to it, what its layers would have said, what another text changes.

Every layer of a transformer adds to one stream. The last norm, held fixed, and the layer on top make of everything that was
added a part of the logit; a row of a stream is named by how many layers have added to it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.errors import TraceError
from attnviz.core.trace import Token

What = Literal["heads", "mlps", "stream"]
WHATS: tuple[What, ...] = ("heads", "mlps", "stream")
LensNumber = Literal["probability", "log p", "rank", "entropy"]
# Parts that are compared with random texts: the strongest.
COMPARED_AT_RANDOM = 10
# Texts that have nothing to do with the two: what they do, too, is no finding.
RANDOM_TEXTS = 5


def _frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    # Imported here: of what shows a page, only tables need pandas.
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))


class Tabled:
    """What is a table, too: `rows`, each with a value for every one of its `columns`."""

    @property
    def frame(self) -> Any:
        """A pandas frame of the rows."""
        table: Any = self
        return _frame(table.columns, table.rows)


@dataclass(frozen=True)
class ComparedWords:
    """What is explained: the logit of a word, less that of another where there is one; as they would stand in the text."""

    word: str
    rather_than: str | None = None

    @property
    def label(self) -> str:
        return self.word.strip() + (f" − {self.rather_than.strip()}" if self.rather_than is not None else "")


@dataclass(frozen=True, eq=False)
class Parts:
    """What every part of a model adds to the logit of a word, or to two words' difference of logits; the last norm is fixed.

    place      of the token that is explained; `tokens` are those before it
    logit      that the model gives, or the difference: the sum of all parts
    embedding  what the tokens' own vectors add
    heads      what each head adds, in every layer; the sum over `keys`
    keys       of each head, what the value of each token adds through it: its weight times that value, read as a logit
    mlps       what is added in each layer that is not attention
    biases     what the vectors add that are the same for every text, by the name of the parameter

    Raises:
        TraceError: sizes differ, or the sum is not the logit.
    """

    model: str
    words: ComparedWords
    place: int
    tokens: tuple[Token, ...]
    logit: float
    embedding: float
    heads: Float[np.ndarray, "layer head"]
    keys: Float[np.ndarray, "layer head key"]
    mlps: Float[np.ndarray, " layer"]
    biases: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        if self.keys.shape != (*self.heads.shape, len(self.tokens)) or self.mlps.shape != self.heads.shape[:1]:
            raise TraceError(f"parts of {self.heads.shape} heads, {self.keys.shape} keys and {self.mlps.shape} layers")
        # Not a number fails, too.
        if not abs(self.total - self.logit) <= self.tolerance:
            raise TraceError(f"the parts sum to {self.total:.4f}, and the model says {self.logit:.4f}")

    @property
    def total(self) -> float:
        return sum(self.sums.values())

    @property
    def sums(self) -> dict[str, float]:
        """The sum written out: embedding, heads, MLPs and biases."""
        sums = {"embedding": self.embedding, "heads": float(self.heads.sum()), "MLPs": float(self.mlps.sum())}
        return sums | ({"biases": math.fsum(self.biases.values())} if self.biases else {})

    @property
    def strongest(self) -> tuple[int, int]:
        """The layer and head that adds most, for or against."""
        layer, head = np.unravel_index(int(np.abs(self.heads).argmax()), self.heads.shape)
        return int(layer), int(head)

    @property
    def rows(self) -> list[tuple[str, int | None, int | None, str, float]]:
        """Every part: its kind, its layer and head, its name, and what it adds."""
        rows: list[tuple[str, int | None, int | None, str, float]] = [("embedding", None, None, "embedding", self.embedding)]
        for layer, heads in enumerate(self.heads.tolist()):
            rows += [("head", layer, head, f"L{layer}·H{head}", value) for head, value in enumerate(heads)]
            rows.append(("mlp", layer, None, f"L{layer}·MLP", float(self.mlps[layer])))
        return rows + [("bias", None, None, name, value) for name, value in self.biases.items()]

    columns = ("part", "layer", "head", "name", "adds")

    @property
    def frame(self) -> Any:
        """A pandas frame, a row a part."""
        return _frame(self.columns, self.rows).astype({"layer": "Int64", "head": "Int64"})

    @property
    def through(self) -> Any:
        """A pandas frame, a row a head and a token: what the token's value adds through that head."""
        rows = [
            (layer, head, place, self.tokens[place].text, float(self.keys[layer, head, place]))
            for layer, head, place in np.ndindex(self.keys.shape)
        ]
        return _frame(("layer", "head", "position", "token", "adds"), rows)


@dataclass(frozen=True, eq=False)
class LogitLens(Tabled):
    """What a model would have said behind every token, had it ended after so many layers (nostalgebraist 2020, logit lens).

    Row 0 is the tokens' own vectors, the last row what the model says; p, rank and ln p are of its own next word.

    likeliest  the text of the likeliest token of each row, and `probability` of it
    words      the model's own next word behind each token
    log_p      ln p of that word, `rank` its place from 1
    entropy    in bits
    """

    model: str
    tokens: tuple[Token, ...]
    words: tuple[str, ...]
    likeliest: tuple[tuple[str, ...], ...]
    probability: Float[np.ndarray, "row token"]
    log_p: Float[np.ndarray, "row token"]
    rank: Int[np.ndarray, "row token"]
    entropy: Float[np.ndarray, "row token"]

    @property
    def rows(self) -> list[tuple[int, int, str, str, float, str, float, int, float]]:
        """Every row of the stream and every token: columns as of `frame`."""
        return [
            (
                row, place, self.tokens[place].text, self.likeliest[row][place], float(self.probability[row, place]),
                self.words[place], float(self.log_p[row, place]), int(self.rank[row, place]), float(self.entropy[row, place]),
            )
            for row, place in np.ndindex(self.log_p.shape)
        ]  # fmt: skip

    columns = ("layers", "position", "token", "likeliest", "probability", "word", "log_p", "rank", "entropy")


@dataclass(frozen=True, eq=False)
class Patches(Tabled):
    """What becomes of the difference of two words' logits when a part of a model is set to what it is in another text.

    what      heads (rows are layers, columns heads), MLPs (one column) or the stream (rows: how many layers have added to it,
              columns: tokens)
    one, other  the difference in either text
    patched   the difference with each part patched; None where it was only estimated
    estimate  the same by gradient times difference (attribution patching, Nanda 2023; Syed et al. 2023)
    pieces    the names of the words' pieces
    random    the difference with each part of `strongest` set to what it is in texts that have nothing to do with these
    """

    model: str
    what: What
    words: ComparedWords
    texts: tuple[str, str]
    tokens: tuple[tuple[Token, ...], tuple[Token, ...]]
    one: float
    other: float
    patched: Float[np.ndarray, "row column"] | None
    estimate: Float[np.ndarray, "row column"]
    pieces: tuple[str, ...] = ()
    random: Float[np.ndarray, "part text"] | None = None

    @property
    def difference(self) -> Float[np.ndarray, "row column"]:
        """The difference with each part patched, estimated where nothing else is there."""
        return self.estimate if self.patched is None else self.patched

    @property
    def change(self) -> Float[np.ndarray, "row column"]:
        """How far each part moves the difference from that of the first text."""
        return self.difference - self.one

    @cached_property
    def strongest(self) -> tuple[tuple[int, int], ...]:
        """The parts that move the difference most, by row and column, the first of them most; those that move nothing aside."""
        order = np.argsort(-np.abs(self.change), axis=None, kind="stable")[:COMPARED_AT_RANDOM]
        places = [np.unravel_index(place, self.change.shape) for place in order.tolist()]
        return tuple((int(row), int(column)) for row, column in places if self.change[row, column])

    def random_change(self, row: int, column: int) -> tuple[float, float] | None:
        """The least and the largest change with a part of random texts in its place; None where they were not computed."""
        if self.random is None or (row, column) not in self.strongest:
            return None
        values = self.random[self.strongest.index((row, column))] - self.one
        return float(values.min()), float(values.max())

    @cached_property
    def correlation(self) -> float | None:
        """Pearson's correlation of the estimates with the changes; None where there is nothing to compare."""
        if self.patched is None or self.patched.size < 3:
            return None
        pairs = np.stack([(self.patched - self.one).ravel(), (self.estimate - self.one).ravel()])
        return float(np.corrcoef(pairs)[0, 1]) if (np.ptp(pairs, axis=1) > 0).all() else None

    @property
    def columns(self) -> tuple[str, ...]:
        second = {"heads": ("head",), "mlps": (), "stream": ("position", "token")}[self.what]
        return ("layers" if self.what == "stream" else "layer", *second, "difference", "change", "share", "estimate")

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Every part: where it is, the difference, the change and its share of that between the texts, and the estimate."""
        apart, rows = self.other - self.one, []
        for row, column in np.ndindex(self.difference.shape):
            second: tuple[int | str, ...] = () if self.what == "mlps" else (column,)
            if self.what == "stream":
                second = (column, self.tokens[0][column].text)
            change = float(self.change[row, column])
            share = change / apart if apart else math.nan
            rows.append((row, *second, float(self.difference[row, column]), change, share, float(self.estimate[row, column])))
        return rows


@dataclass(frozen=True, eq=False)
class PatchCurve(Tabled):
    """What becomes of the difference when k parts are set to what they are in the other text together, for each k of `counts`.

    best    the k parts that, each alone, move it furthest towards the other text
    random  k parts by chance, draw by draw
    """

    counts: tuple[int, ...]
    best: Float[np.ndarray, " count"]
    random: Float[np.ndarray, "draw count"]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("parts", "best", *(f"draw_{number}" for number in range(1, len(self.random) + 1)))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Every number of parts: the difference with the best, and with each draw."""
        return list(zip(self.counts, self.best.tolist(), *self.random.tolist(), strict=True))
