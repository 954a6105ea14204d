"""The picture of a step without what its questions ask for: the rows of those words are masked, in every head."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.word_names import word_at, word_names
from attnviz.attribution.methods import titles_of
from attnviz.core.arrays import LayerWeights, Weights
from attnviz.core.trace import AttentionMap, Token, WeightStore
from attnviz.core.weights import Slab, whole_slab
from attnviz.lessons.given_answers import TYPED_KINDS
from attnviz.lessons.lesson_file import LessonQuestion, LessonStep
from attnviz.lessons.picture_link import LessonPicture
from attnviz.lessons.right_answer import AnswerSource

# Kinds whose answer stands in the row of the word that the question calls `from`.
OF_A_ROW = ("token", "number", "head", "order")
# Methods that a wall or a sheet of paper has room for, of those that the page What matters tests.
_METHODS = ("leave-one-out", "gradient-input", "frozen-gradient", "attention", "rollout", "received")


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


@dataclass(frozen=True, eq=False)
class MethodTable:
    """What each word is worth to the output, a row for each method; `hidden` are the rows that answer a question.

    values  shares of the largest of the row, -1 to 1
    """

    titles: tuple[str, ...]
    words: tuple[str, ...]
    values: Float[np.ndarray, "method word"]
    hidden: tuple[int, ...]


def method_table(questions: Iterable[LessonQuestion], picture: LessonPicture, source: AnswerSource) -> MethodTable:
    """Make the table that the page What matters draws, without the rows of the methods that questions are about.

    Raises:
        AttnvizError: the model cannot be loaded, or cannot read the text.
    """
    asked = dict.fromkeys(filter(None, (each.text("by") for each in questions)))
    titles = titles_of((*asked, *(name for name in _METHODS if name not in asked)))
    shares = [source.shares(picture, name) for name in titles]
    tokens = shares[0].tokens
    # As on the page: what a method gives to [CLS] would leave the words pale.
    places = [place for place, token in enumerate(tokens) if not token.special]
    values = np.stack([each.values[places] for each in shares])
    values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12)
    names = word_names(tokens)
    return MethodTable(tuple(titles.values()), tuple(names[place] for place in places), values, tuple(range(len(asked))))
