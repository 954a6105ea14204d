"""The interface of every model that translates, ours and those of the hub."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from attnviz.core.trace import AttentionTrace, Prompt
from attnviz.models.base import AttentionModel
from attnviz.models.translate.draft import DecodingStep, SearchTree, Translation
from attnviz.nn.decoding import Beam

# As models' configurations name the task.
TRANSLATE = "translation_en_to_fr"


@runtime_checkable
class TranslatingModel(AttentionModel, Protocol):
    """A model that translates, token by token, with its probabilities and searches.

    A piece is a number of its vocabulary; `closed` are the names of those that it cannot be asked to write.

    Raises:
        PromptError: nothing in the text can be read, or one of the names is no piece that this model writes.
    """

    @property
    def closed(self) -> frozenset[str]: ...

    def steps(self, prompt: Prompt | str) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Trace the greedy translation or `prompt.target`, and tell how likely the model found every token of it."""
        ...

    def follow(self, prompt: Prompt, pieces: Sequence[int]) -> tuple[AttentionTrace, tuple[DecodingStep, ...]]:
        """Do as `steps`, of exactly these pieces, such as one of several translations that were found."""
        ...

    def translate(self, text: str, beam: Beam | None = None, prefix: Sequence[int] = ()) -> tuple[Translation, ...]:
        """Find the translations that begin with the pieces of `prefix`, best first: one without a beam."""
        ...

    def search(self, text: str, beam: Beam, prefix: Sequence[int] = ()) -> tuple[tuple[Translation, ...], SearchTree | None]:
        """Translate, and return the tree that the search walked after the prefix; None where the search does not show it."""
        ...

    def ended(self, pieces: Sequence[int]) -> bool:
        """Whether an end mark is among the pieces."""
        ...

    def pieces(self, names: Sequence[str]) -> tuple[int, ...]:
        """Pieces of the target's vocabulary by their names, such as those of `DecodingStep.alternatives`."""
        ...

    def names(self, pieces: Sequence[int]) -> tuple[str, ...]:
        """Name pieces as the vocabulary does: the reverse of `pieces`."""
        ...
