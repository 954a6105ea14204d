"""The picture of a step without what its questions ask for: the rows of those words are masked, in every head."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from attnviz.analysis.word_names import word_at
from attnviz.core.arrays import LayerWeights, Weights
from attnviz.core.trace import AttentionMap, Token, WeightStore
from attnviz.core.weights import Slab, whole_slab
from attnviz.lessons.given_answers import TYPED_KINDS
from attnviz.lessons.lesson_file import LessonStep
from attnviz.lessons.right_answer import AnswerSource

# Kinds whose answer stands in the row of the word that the question calls `from`.
OF_A_ROW = ("token", "number", "head", "order")


@dataclass(frozen=True, eq=False)
class HiddenRows:
    """Weights of which some rows are masked: nothing of them leaves this value."""

    store: WeightStore
    hidden: tuple[int, ...]

    @property
    def n_layers(self) -> int:
        return self.store.n_layers

    @property
    def n_heads(self) -> int:
        return self.store.n_heads

    @property
    def shape(self) -> tuple[int, int]:
        return self.store.shape

    @property
    def nbytes(self) -> int:
        return self.store.nbytes

    def head(self, layer: int, head: int) -> Weights:
        weights = self.store.head(layer, head).copy()
        weights[list(self.hidden)] = 0
        return weights

    def slabs(self, layer: int, head: int) -> Iterator[Slab]:
        # The entropy of a hidden row would tell of it.
        return whole_slab(self.head(layer, head))

    def layer(self, layer: int) -> LayerWeights:
        weights = self.store.layer(layer).copy()
        weights[:, list(self.hidden)] = 0
        return weights

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        seen = self.store.visible(layer)
        seen = np.ones(self.shape, dtype=bool) if seen is None else seen.copy()
        seen[list(self.hidden)] = False
        return seen


def hidden_map(step: LessonStep, source: AnswerSource) -> AttentionMap | None:
    """Make the map of a step's picture without the rows that answer its questions; None where nothing would be left to look at.

    Raises:
        AttnvizError: the model cannot be loaded, cannot read the text, or there is no such word in it.
    """
    picture, asked = step.picture, [each for each in step.questions if each.kind not in TYPED_KINDS]
    words = {each.text("from") for each in asked if each.kind in OF_A_ROW}
    if picture is None or not words or "" in words or any(each.kind not in OF_A_ROW for each in asked):
        return None
    result = source.result(picture)
    attention, matrix = picture.attention(result), picture.matrix(result, 0, 0)
    hidden = [matrix.queries[word_at(word, matrix.queries)] for word in words]
    rows = tuple(at for at, token in enumerate(attention.queries) if any(_is_part(token, word) for word in hidden))
    return replace(attention, store=HiddenRows(attention.store, rows))


def _is_part(token: Token, word: Token) -> bool:
    is_inside = token.segment == word.segment and word.start <= token.start and token.end <= word.end
    return is_inside and token.special == word.special
