"""From tokens to the words of a treebank: what each word, and each special token, gives to each."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.trace import AttentionMap, Token
from attnviz.text.conllu import ParsedSentence

# Stands for a word that looks at nothing: it was not read, or there is no other.
NOTHING = -1


@dataclass(frozen=True, eq=False)
class WordAttention:
    """The attention of every head of a map between units: the words of a sentence first, then its special tokens.

    weights  the last head of a layer is the mean of its heads; keys are summed and queries averaged over the tokens of a unit
    """

    weights: Float[np.ndarray, "layer head unit unit"]
    n_words: int


@dataclass(frozen=True, eq=False)
class Strongest:
    """Where each unit looks most, by head: the number of the unit that receives the largest weight; -1 where there is none.

    other  among the words, itself and special tokens left out
    top    among all units, itself and special tokens too; a number from `n_words` on is a special token
    other_weight, top_weight  the weights that these receive
    """

    other: Int[np.ndarray, "layer head unit"]
    top: Int[np.ndarray, "layer head unit"]
    other_weight: Float[np.ndarray, "layer head unit"]
    top_weight: Float[np.ndarray, "layer head unit"]
    n_words: int

    @property
    def nbytes(self) -> int:
        return 2 * (self.other.nbytes + self.other_weight.nbytes)


def word_attention(attention: AttentionMap, sentence: ParsedSentence) -> WordAttention:
    """Merge the tokens of each word of `sentence`, whose text the map's model has read.

    >>> from attnviz.core.trace import DenseWeights
    >>> from attnviz.text.conllu import ParsedWord
    >>> tokens = (Token("[CLS]", 0, 0, special=True), Token("sit", 0, 3), Token("s", 3, 4))
    >>> rows = [[1, 0, 0], [0.5, 0.25, 0.25], [0, 0.5, 0.5]]
    >>> attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[rows]])[0],)))
    >>> word_attention(attention, ParsedSentence("sits", (ParsedWord("sits", 0, 4),))).weights[0, 0].tolist()
    [[0.75, 0.25], [0.0, 1.0]]
    """
    units = unit_of(attention.queries, sentence)
    starts = np.flatnonzero(np.diff(units, prepend=-2))
    placed, n_units = units[starts], max(units.max(initial=-1) + 1, len(sentence.words))
    sizes = np.diff(starts, append=len(units)).astype(np.float32)
    kept, read = placed >= 0, attention.layer_weights
    merged = np.zeros((attention.n_layers, attention.n_heads + 1, n_units, n_units), dtype=np.float32)
    for layer in range(attention.n_layers):
        weights = np.add.reduceat(read(layer)[..., : len(units)], starts, axis=2)
        weights = np.add.reduceat(weights, starts, axis=1) / sizes[:, None]
        merged[layer, :-1, placed[kept][:, None], placed[kept]] = weights[:, kept][..., kept].transpose(1, 2, 0)
    merged[:, -1] = merged[:, :-1].mean(axis=1)
    return WordAttention(merged, len(sentence.words))


def unit_of(tokens: tuple[Token, ...], sentence: ParsedSentence) -> Int[np.ndarray, " token"]:
    """Number the unit of each token: the word that holds its first character, or one of its own for a special token."""
    characters = np.full(len(sentence.text) + 1, NOTHING)
    for index, word in enumerate(sentence.words):
        characters[word.start : word.end] = index
    n_special, units = 0, np.empty(len(tokens), dtype=int)
    for index, token in enumerate(tokens):
        units[index] = len(sentence.words) + n_special if token.special else characters[min(token.start, len(sentence.text))]
        n_special += token.special
    return units


def strongest(attention: WordAttention) -> Strongest:
    """Find where each unit looks most."""
    weights, n_words = attention.weights, attention.n_words
    others = weights[..., :n_words].copy()
    diagonal = np.arange(n_words)
    others[:, :, diagonal, diagonal] = 0
    (other, other_weight), (top, top_weight) = _largest(others), _largest(weights)
    return Strongest(other, top, other_weight, top_weight, n_words)


def _largest(weights: Float[np.ndarray, "layer head unit key"]) -> tuple[np.ndarray, np.ndarray]:
    """Find the largest weight of each row and where it stands; half precision is enough to put rows in order."""
    if not weights.shape[3]:
        return np.full(weights.shape[:3], NOTHING, dtype=np.int16), np.zeros(weights.shape[:3], dtype=np.float16)
    places = weights.argmax(axis=3)
    largest = np.take_along_axis(weights, places[..., None], axis=3)[..., 0]
    return np.where(largest > 0, places, NOTHING).astype(np.int16), largest.astype(np.float16)
