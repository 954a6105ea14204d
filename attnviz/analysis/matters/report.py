"""What attribution methods made of one text: its words, shares and figures by method, and the model without some words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from attnviz.analysis.matters.faithfulness import Faithfulness, kendall_tau, most_important_first


@dataclass(frozen=True, eq=False)
class AttributionReport:
    """The shares of one text by several methods, and how faithful each is.

    own      the places of the output's own words, which are never taken
    targets  the parts of the output that can be explained, and what each is called
    """

    target: str
    probability: float
    words: tuple[str, ...]
    own: frozenset[int]
    shares: Mapping[str, np.ndarray]
    figures: Mapping[str, Faithfulness]
    refused: Mapping[str, str]
    targets: Mapping[str, str] = field(default_factory=dict)

    def joined(self, other: "AttributionReport") -> "AttributionReport":
        """Add the figures of other methods on the same text."""
        parts = {name: {**getattr(self, name), **getattr(other, name)} for name in ("shares", "figures", "refused")}
        return replace(self, **parts)

    def agreement(self, name: str) -> float | None:
        """Kendall's τ of a method with leaving one word out, over the words that can be taken; None: that was not computed."""
        if (left_out := self.shares.get("leave-one-out")) is None or name not in self.shares:
            return None
        return kendall_tau(self.shares[name][self._removable], left_out[self._removable])

    def ranked(self, name: str) -> tuple[int, ...]:
        """Rank the places of the words that can be taken, the one that speaks most for the output first."""
        places = self._removable
        return tuple(places[rank] for rank in most_important_first(self.shares[name][places]).tolist())

    @property
    def _removable(self) -> list[int]:
        return [place for place in range(len(self.words)) if place not in self.own]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, roughly."""
        return sum(shares.nbytes for shares in self.shares.values()) + 4096


@dataclass(frozen=True)
class Without:
    """What the model makes of a text without some of its words: p of its former output, and what it says now, if in words."""

    probability: float
    says: str | None

    @property
    def nbytes(self) -> int:
        """Bytes that it takes, roughly."""
        return 512
