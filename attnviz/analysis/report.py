"""All that a page shows of one text: words, shares, figures and curves by way, and what the model says without some words."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.faithfulness import Faithfulness, Removals


@dataclass(frozen=True, eq=False)
class Report:
    """What ways said of one text. `own` are the places of the output's own words, which are never taken."""

    target: str
    probability: float
    words: tuple[str, ...]
    own: frozenset[int]
    shares: Mapping[str, np.ndarray]
    figures: Mapping[str, Faithfulness]
    curves: Mapping[str, Removals]
    refused: Mapping[str, str]

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
