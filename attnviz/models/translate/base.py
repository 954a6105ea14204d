"""What every model that translates looks like from outside, ours and those of the hub: more than a trace can be asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from attnviz.core.trace import AttentionTrace, Prompt, Token
from attnviz.models.base import AttentionModel
from attnviz.nn.decoding import Beam


@dataclass(frozen=True)
class Translation:
    """A translation, its pieces (the end mark among them), and ln p of them all."""

    text: str
    pieces: tuple[int, ...]
    log_probability: float


@dataclass(frozen=True)
class DecodingStep:
    """One token as it was written, or forced: p(token) there, and the likeliest tokens in its place, best first."""

    token: Token
    probability: float
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Branch:
    """One token that a search weighed, by its name: p of it there, and the place of the one before it; None: it is a first one.

    kept  the search went on from it, or ended there; else it fell out
    """

    name: str
    parent: int | None
    probability: float
    kept: bool


@dataclass(frozen=True)
class SearchTree:
    """All that a search weighed, step by step; `leaves` are the last branches of the translations it found, best first."""

    branches: tuple[Branch, ...]
    leaves: tuple[int, ...]


@runtime_checkable
class TranslatingModel(AttentionModel, Protocol):
    """A model that writes what it was asked to translate, token by token, with all that can be known of it.

    A piece is a number of its vocabulary; `closed` are the names of those that it cannot be asked to write.
    """

    @property
    def closed(self) -> frozenset[str]: ...

    def steps(self, prompt: Prompt | str, n_alternatives: int = 5) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the greedy translation or `prompt.target`, and tell how likely the model found every token of it.

        Raises:
            PromptError: as of `trace`.
        """
        ...

    def follow(
        self, prompt: Prompt, pieces: Sequence[int], n_alternatives: int = 5
    ) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found.

        Raises:
            PromptError: nothing in the text can be read.
        """
        ...

    def translate(self, text: str, beam: Beam | None = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam.

        Raises:
            PromptError: nothing in the text can be read.
        """
        ...

    def search(self, text: str, beam: Beam, prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree | None]:
        """Translate, and return the tree that the search walked after the prefix; None where the search does not show it.

        Raises:
            PromptError: nothing in the text can be read.
        """
        ...

    def ended(self, pieces: Sequence[int]) -> bool:
        """Whether an end mark is among the pieces."""
        ...

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Pieces of the target's vocabulary by their names, such as those of `DecodingStep.alternatives`.

        Raises:
            PromptError: one of them is no piece that this model writes.
        """
        ...

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        ...
