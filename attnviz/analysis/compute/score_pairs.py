"""A score q·k/√d as a sum over pairs of tokens: one contributed to the query, the other to the key."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import Part, Sentence, signed
from attnviz.core.trace import Token

# What no token gives.
BIASES = "positions and biases"


@dataclass(frozen=True, eq=False)
class PairShares:
    """Row a and column b have what token a gave the query times what token b gave the key.

    The last row and the last column are what biases and positions give. All of `values` sums to `score`.
    """

    tokens: tuple[Token, ...]
    values: Float[np.ndarray, "giver_of_query giver_of_key"]
    score: float

    @property
    def givers(self) -> tuple[str, ...]:
        """Name each row and column."""
        return (*(token.text for token in self.tokens), BIASES)

    def largest(self, most: int = 8) -> list["Pair"]:
        """The pairs that count most, for or against, the largest first."""
        order = np.argsort(-np.abs(self.values), axis=None, kind="stable")[:most]
        rows, columns = np.unravel_index(order, self.values.shape)
        return [Pair(int(row), int(column), float(self.values[row, column])) for row, column in zip(rows, columns, strict=True)]

    def sides(self) -> tuple[Float[np.ndarray, " giver"], Float[np.ndarray, " giver"]]:
        """What each giver adds to the score by way of the query, and by way of the key; each sums to the score."""
        return self.values.sum(axis=1), self.values.sum(axis=0)


@dataclass(frozen=True)
class Pair:
    """One pair: places among `PairShares.givers`, and what it adds to the score."""

    query_giver: int
    key_giver: int
    share: float


def rest_of(shares: PairShares, pairs: Sequence[Pair]) -> float:
    """What all other pairs add to the score."""
    return shares.score - sum(pair.share for pair in pairs)


def describe_pairs(shares: PairShares, name: str) -> Sentence:
    """Say which token contributes most by way of the query, and which by way of the key."""
    of_query, of_key = (int(np.argmax(side[:-1])) for side in shares.sides())
    most = max(shares.largest(most=shares.values.size), key=lambda pair: pair.share)
    givers = shares.givers
    return (
        Part(f"{name} scores {signed(shares.score, '+.2f')} here. Of all tokens "), _named(givers[of_query]),
        Part(" contributes most by way of the query, "), _named(givers[of_key]),
        Part(" by way of the key; the largest pair is "), _named(givers[most.query_giver]), Part(" × "),
        _named(givers[most.key_giver]), Part(f" ({signed(most.share, '+.2f')})."),
    )  # fmt: skip


def _named(giver: str) -> Part:
    return Part(giver, strong=True, quoted=giver != BIASES)
