"""Shares of tokens in a model's output, by any attribution method; and what each head's absence costs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnviz.core.arrays import Kind, frozen
from attnviz.core.errors import TraceError
from attnviz.core.trace import Token

Head = tuple[Kind, int, int]
Unit = Literal["nats", "cosine"]


@dataclass(frozen=True, eq=False)
class Shares:
    """One share a token, by one attribution method: positive where the token speaks for the output, negative where against it.

    method  the name of the method, such as "frozen-gradient"
    target  the explained part of the output, in words
    rest    what the model adds whatever was typed (its biases), where shares and rest sum to the score; None: they do not sum

    Raises:
        TraceError: there is not one finite share a token.

    >>> Shares("random", "the answer", (Token("hi", 0, 2),), np.array([0.5])).values
    array([0.5])
    """

    method: str
    target: str
    tokens: tuple[Token, ...]
    values: Float[np.ndarray, " token"]
    rest: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values, np.float64))
        if self.values.shape != (len(self.tokens),):
            raise TraceError(f"{self.method} has shares of shape {self.values.shape} for {len(self.tokens)} tokens")
        if not np.isfinite(self.values).all():
            raise TraceError(f"{self.method} has shares that are not finite")


@dataclass(frozen=True, eq=False)
class HeadCosts:
    """What each head's absence costs one output.

    unit    "nats": by how much ln p of the output falls; "cosine": how far the last states turn, 1 - cosine
    before  the score without edits: ln p, or 0
    costs   by kind, of each layer and head; below 0 where the output becomes likelier, NaN where a layer has no attention
    """

    unit: Unit
    before: float
    costs: dict[Kind, Float[np.ndarray, "layer head"]]

    @property
    def ranked(self) -> tuple[Head, ...]:
        """List all heads, the least costly first."""
        heads: list[Head] = [
            (kind, layer, head) for kind, costs in self.costs.items() for layer, head in np.argwhere(~np.isnan(costs)).tolist()
        ]
        return tuple(sorted(heads, key=self.of))

    def of(self, head: Head) -> float:
        """Look up what a head costs."""
        return float(self.costs[head[0]][head[1:]])


@dataclass(frozen=True, eq=False)
class RemovalCurve:
    """What it costs when k heads are off at once, for each k of `counts`.

    least, most  the k heads that cost least, or most, when each is off alone
    random       k heads by chance, draw by draw: a claim about k heads means nothing without it
    """

    counts: tuple[int, ...]
    least: Float[np.ndarray, " count"]
    most: Float[np.ndarray, " count"]
    random: Float[np.ndarray, "draw count"]
