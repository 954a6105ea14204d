"""The links between whole words in all heads of a map, and the word, the link and the cell that a page shows first."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32

from attnviz.analysis.head_metrics import is_word, strongest_link
from attnviz.analysis.head_ranking import PRONOUNS, elsewhere, word_columns
from attnviz.analysis.head_view import HeadMatrix, Lens, View, head_weights
from attnviz.analysis.token_words import row_weights
from attnviz.core.trace import AttentionMap, Token

Place = tuple[int, int | None]


class WordLinks:
    """The weights between the whole words of a map, in all of its heads.

    view  which tokens are shown
    kept  where what was computed is kept, as long as the caller wants; it holds arrays, and not the map

    Raises:
        TraceError: the view leaves no token.
    """

    def __init__(self, attention: AttentionMap, view: View, cache: dict[object, np.ndarray] | None = None) -> None:
        self.attention = attention
        self.kept = {} if cache is None else cache
        self.lens = Lens(attention, replace(view, words=True))

    @property
    def queries(self) -> tuple[Token, ...]:
        return self.lens.queries

    @property
    def keys(self) -> tuple[Token, ...]:
        return self.lens.keys

    @cached_property
    def word_keys(self) -> list[int]:
        return word_columns(self.lens)

    def query_at(self, position: int | None) -> int | None:
        """Find the word that a query of the map belongs to; None where it is not shown."""
        return _part_with(position, self.lens.row_parts)

    def key_at(self, position: int | None) -> int | None:
        """Find the word that a key of the map belongs to; None where it is not shown."""
        return _part_with(position, self.lens.column_parts)

    def strongest_head(self, queries: Sequence[int], keys: Sequence[int]) -> tuple[int, int]:
        """Find the head in which some words, on average, give most to all of some others."""
        weights = np.mean([self.row(word) for word in queries], axis=0)[..., list(keys)].sum(axis=-1)
        layer, head = np.unravel_index(int(weights.argmax()), weights.shape)
        return int(layer), int(head)

    def row(self, query: int) -> Float32[np.ndarray, "layer head key"]:
        """Read the weights that a word gives to every word, in all heads."""
        if (name := ("row", self.lens.view, query)) not in self.kept:
            layers = range(self.attention.n_layers)
            self.kept[name] = np.stack([self.rows_of(layer, range(query, query + 1))[:, 0] for layer in layers])
        return self.kept[name]

    def rows_of(self, layer: int, words: range) -> Float32[np.ndarray, "head word key"]:
        """Compute what neighbouring words give in all heads of a layer: of several tokens the mean, to several the sum."""
        parts = [self.lens.row_parts[word] for word in words]
        begins, ends = parts[0][0], parts[-1][-1] + 1
        weights = row_weights(self.attention, layer, slice(begins, ends))
        means = np.stack([weights[:, [place - begins for place in part]].mean(axis=1) for part in parts], axis=1)
        merged = self.lens.over_keys(means.reshape(-1, means.shape[-1]))
        return merged.reshape(*means.shape[:2], -1).astype(np.float32)

    def of_place(self, place: Place, words: range) -> Float[np.ndarray, "1 word key"]:
        """Compute what neighbouring words give in one head, or in the mean over those of a layer."""
        layer, head = place
        if head is not None:
            return self.rows_of(layer, words)[head : head + 1]
        weights = head_weights(self.attention, layer)
        return self.lens.matrix(weights, self.attention.visible(layer)).weights[None, words.start : words.stop]


def _part_with(position: int | None, parts: Sequence[Sequence[int]]) -> int | None:
    return next((word for word, part in enumerate(parts) if position in part), None)


# A pronoun that looks less than that at another word tells nothing.
LEAST_TELLING = 0.2
# The word to look at first is one of so many at the beginning: where a long text begins is what one sees of it.
MOST_WORDS = 48
# Letters from which on a word is more likely a noun, a verb or an adjective than a small word.
LONGER = 4


@dataclass(frozen=True)
class WordLink:
    """One link between two words, and the head that is looked at.

    query, key  indices of words among `WordLinks.queries` and `WordLinks.keys`; key None: the word has no other to look at
    head        None: the mean over the layer's heads
    """

    query: int
    key: int | None
    layer: int
    head: int | None


def first_link(links: WordLinks, place: Place | None = None, *, query: int | None = None, key: int | None = None) -> WordLink:
    """Choose what nobody asked for: a word, the word that it looks at, and the head that looks hardest.

    place  the layer and the head that is looked at; None: the first of the ranking by the link
    query  the word that was asked about; None: a pronoun, else the word that looks hardest at another one
    """
    word = _first_word(links, place) if query is None else query
    weights = links.row(word) if place is None else links.of_place(place, range(word, word + 1))[None]
    columns = [key] if key is not None else _candidates(links, place, word)
    if not columns:
        return WordLink(word, None, *(place or (0, 0)))
    layer, head, at = np.unravel_index(int(weights[..., columns].argmax()), (*weights.shape[:2], len(columns)))
    return WordLink(word, columns[int(at)], *(place or (int(layer), int(head))))


def _first_word(links: WordLinks, place: Place | None) -> int:
    strongest = _strongest(links, place)
    names = [token.text.strip().casefold() for token in links.queries[: len(strongest)]]
    pronouns = [
        word
        for word, name in enumerate(names)
        if name in PRONOUNS and strongest[word] >= LEAST_TELLING and _candidates(links, None, word)[0] < word
    ]
    words = [word for word, _ in enumerate(names) if is_word(links.queries[word])]
    long_words = [word for word in words if len(names[word]) >= LONGER and strongest[word] >= LEAST_TELLING]
    return max(pronouns or long_words or words or range(len(names)), key=lambda word: float(strongest[word]))


def _candidates(links: WordLinks, place: Place | None, word: int) -> list[int]:
    """List where a word can look that tells something; in a head that somebody chose, its neighbours as well."""
    if place is None:
        return elsewhere(word, links.lens, links.word_keys, causal=links.attention.causal)
    return [key for key in links.word_keys if key != links.lens.own[word]]


def _strongest(links: WordLinks, place: Place | None) -> Float32[np.ndarray, " query"]:
    """Find the largest weight that each of the first words gives, in any head or in that of a place."""
    if (name := ("strongest", links.lens.view, place)) not in links.kept:
        words = range(min(len(links.queries), MOST_WORDS))
        telling = np.zeros((len(words), len(links.keys)), dtype=bool)
        for word in words:
            telling[word, _candidates(links, place, word)] = True
        # One layer after another: the rows of all heads of a long text fill a hundred megabytes.
        given = (links.rows_of(layer, words) for layer in range(links.attention.n_layers))
        if place is not None:
            given = iter([links.of_place(place, words)])
        strongest = [np.where(telling, rows, 0).max(axis=(0, 2)) for rows in given]
        links.kept[name] = np.max(strongest, axis=0).astype(np.float32)
    return links.kept[name]


def first_cell(matrix: HeadMatrix) -> tuple[int, int]:
    """Choose the cell to look at first: the strongest link between words, else the first typed token's largest weight."""
    if link := strongest_link(matrix):
        return link.query, link.key
    row = next((index for index, token in enumerate(matrix.queries) if not token.special), 0)
    return row, int(matrix.weights[row].argmax())
