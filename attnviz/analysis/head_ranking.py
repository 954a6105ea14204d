"""Rank the heads of a map by what was asked: by a link between two words, or by how far they look for one word."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_view import Lens, View, default_map
from attnviz.analysis.row_weights import row_weights
from attnviz.analysis.word_names import word_at, word_names
from attnviz.analysis.wording import head_name
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace

# Words that stand for one before them.
PRONOUNS = frozenset("it its itself he him his himself she her hers herself they them their theirs themselves".split())  # noqa: SIM905
# A word, or several of them.
Words = str | Sequence[str]


@dataclass(frozen=True)
class RankedHead:
    """One head, and the weight that it was ranked by, 0 to 1: of the link, or of the word that it looks at hardest.

    key  the word that is looked at; of several, the one that is looked at most
    """

    layer: int
    head: int
    weight: float
    key: str

    @property
    def name(self) -> str:
        return head_name(self.layer, self.head)


def rank_heads(trace: AttentionTrace, query: Words, key: Words | None = None, *, kind: str | None = None) -> list[RankedHead]:
    """Rank all heads of a trace's map, the strongest first, by the weight that `query` gives to `key`.

    A word is written as it stands in the text, and with a number where it stands there several times: "the(2)". Subwords are
    merged to words. Of several queries the mean counts, of several keys the sum. Without a key, a head is ranked by the word
    that it looks at hardest besides the query itself, its two neighbours, punctuation and special tokens (`elsewhere`).

    kind  "encoder", "decoder" or "cross"; where it is not given, the attention across, if there is one

    Raises:
        TraceError: there is no such word or map; the message names the words that there are.

    >>> from attnviz import from_weights
    >>> trace = from_weights([[[0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [0.5, 0.5]]], queries=["it", "rains"])
    >>> [(each.name, round(each.weight, 2)) for each in rank_heads(trace, "it", "rains")]
    [('L0·H0', 0.8), ('L0·H1', 0.1)]
    """
    attention = default_map(trace, kind)
    lens = Lens(attention, View(words=True))
    rows, names = [word_at(word, lens.queries) for word in _several(query)], word_names(lens.keys)
    if not rows:
        raise TraceError("There is no word to rank the heads by: name one of the text.")
    columns = [word_at(word, lens.keys) for word in _several(key)] if key else _elsewhere(rows, lens, attention)
    if not columns:
        raise TraceError(f"“{' '.join(_several(query))}” has no word to look at besides its neighbours: type a longer text.")
    ranked = []
    for layer, head in np.ndindex(attention.n_layers, attention.n_heads):
        weights = lens.matrix(attention.weights(int(layer), int(head)), attention.visible(int(layer))).weights
        row = weights[rows].mean(axis=0)[columns]
        weight = float(row.sum() if key else row.max())
        ranked.append(RankedHead(int(layer), int(head), weight, names[columns[int(row.argmax())]]))
    return sorted(ranked, key=lambda each: -each.weight)


def _elsewhere(rows: Sequence[int], lens: Lens, attention: AttentionMap) -> list[int]:
    """List the words that tell something of each of several."""
    words = word_columns(lens)
    several = [set(elsewhere(row, lens, words, causal=attention.causal)) for row in rows]
    return sorted(set.intersection(*several))


def link_weights(
    attention: AttentionMap, view: View, queries: Sequence[int], keys: Sequence[int]
) -> Float[np.ndarray, "layer head"]:
    """Read what rows of a picture give to some of its columns, in every head: of rows the mean, of columns the sum.

    queries, keys  indices of the rows and columns that the view shows
    """
    return given_weights(attention, Lens(attention, view), queries)[..., list(keys)].sum(axis=-1)


def given_weights(attention: AttentionMap, lens: Lens, queries: Sequence[int]) -> Float[np.ndarray, "layer head key"]:
    """Read what rows of a picture give, on average, to each of its columns, in every head."""
    parts = [lens.row_parts[query] for query in queries]
    begins, ends = min(part[0] for part in parts), max(part[-1] for part in parts) + 1
    weights = np.stack([row_weights(attention, layer, slice(begins, ends)) for layer in range(attention.n_layers)])
    given = np.mean([weights[:, :, [row - begins for row in part]].mean(axis=2) for part in parts], axis=0)
    return np.stack([given[..., list(part)].sum(axis=-1) for part in lens.column_parts], axis=-1)


def strongest_places(weights: Float[np.ndarray, "layer head"], most: int = 5) -> list[tuple[int, int]]:
    """List the layer and the head of the largest weights, the largest first."""
    places = np.argsort(-weights.ravel(), kind="stable")[:most]
    return [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(places, weights.shape), strict=True)]


def _several(words: Words) -> Sequence[str]:
    return [words] if isinstance(words, str) else words


def word_columns(lens: Lens) -> list[int]:
    """List the columns that are words, and no punctuation or special tokens."""
    return [column for column, token in enumerate(lens.keys) if is_word(token)]


def elsewhere(row: int, lens: Lens, words: Sequence[int], *, causal: bool) -> list[int]:
    """List those of some columns that tell something when a word looks at them: not itself or its two neighbours.

    Of a pronoun they are those before it. In a causal map the first word is none: heads without anything to do look there
    (Xiao et al. 2023).
    """
    own = lens.own[row]
    near = set() if own is None else {own - 1, own, own + 1}
    near |= {0} if causal else set()
    far = [column for column in words if column not in near]
    before = [column for column in far if own is not None and column < own]
    is_pronoun = lens.queries[row].text.strip().casefold() in PRONOUNS
    return before if is_pronoun and before else far
