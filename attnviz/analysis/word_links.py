"""The weights between the whole words of a map, in all of its heads."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32

from attnviz.analysis.head_ranking import word_columns
from attnviz.analysis.head_view import Lens, View, head_weights
from attnviz.analysis.row_weights import row_weights
from attnviz.core.trace import AttentionMap, Token

Place = tuple[int, int | None]


class WordLinks:
    """The weights between the whole words of a map, in all of its heads.

    view  which tokens are shown
    kept  where what was computed is kept, as long as the caller wants; it holds arrays, and not the map

    Raises:
        TraceError: the view leaves no token.
    """

    def __init__(self, attention: AttentionMap, view: View, kept: dict[object, np.ndarray] | None = None) -> None:
        self.attention = attention
        self.kept = {} if kept is None else kept
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
        """The weights that neighbouring words give, in all heads of a layer: of several tokens the mean, to several the sum."""
        parts = [self.lens.row_parts[word] for word in words]
        begins, ends = parts[0][0], parts[-1][-1] + 1
        weights = row_weights(self.attention, layer, slice(begins, ends))
        means = np.stack([weights[:, [place - begins for place in part]].mean(axis=1) for part in parts], axis=1)
        merged = self.lens.over_keys(means.reshape(-1, means.shape[-1]))
        return merged.reshape(*means.shape[:2], -1).astype(np.float32)

    def of_place(self, place: Place, words: range) -> Float[np.ndarray, "1 word key"]:
        """The same in one head, or in the mean over those of a layer."""
        layer, head = place
        if head is not None:
            return self.rows_of(layer, words)[head : head + 1]
        weights = head_weights(self.attention, layer)
        return self.lens.matrix(weights, self.attention.visible(layer)).weights[None, words.start : words.stop]


def _part_with(position: int | None, parts: Sequence[Sequence[int]]) -> int | None:
    return next((word for word, part in enumerate(parts) if position in part), None)
