"""Rank heads by the links between words that they draw."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Float32

from attnviz.analysis.head_metrics import is_word, strongest_link
from attnviz.analysis.head_view import (
    HeadMatrix,
    Lens,
    View,
    default_map,
    head_weights,
    row_weights,
    whole_words,
    word_names,
    words_at,
)
from attnviz.analysis.wording import head_name
from attnviz.core.errors import TraceError, described
from attnviz.core.trace import AttentionMap, AttentionTrace, Token

# Words that stand for one before them.
PRONOUNS = frozenset("it its itself he him his himself she her hers herself they them their theirs themselves".split())  # noqa: SIM905
# A word, or several of them.
Words = str | Sequence[str]
# Which step of a decoder stands for a word: the one that writes it, or the next one, which reads it.
Step = Literal["writes", "reads"]


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


def rank_heads(
    trace: AttentionTrace, query: Words, key: Words | None = None, *, kind: str | None = None, step: str = "writes"
) -> list[RankedHead]:
    """Rank all heads of a trace's map, the strongest first, by the weight that `query` gives to `key`.

    A word is written as it stands in the text, and with a number where it stands there several times: "the(2)". Subwords are
    merged to words; neighbours are named together: "New York", or "東京", which has no spaces. Of several queries the mean
    counts, of several keys the sum. Without a key, a head is ranked by the word that it looks at hardest besides the query
    itself, its two neighbours, punctuation and special tokens (`elsewhere`).

    kind  "encoder", "decoder" or "cross"; where it is not given, the attention across, if there is one
    step  of a Transformer's attention across, where a step reads one word and writes the next: which of a word's two rows is
          its own, as on the page Translate. The start mark is only read, the last token only written: each has its one row.

    Raises:
        TraceError: there is no such word, map or step; the message names the words that there are.

    >>> from attnviz import from_weights
    >>> trace = from_weights([[[0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [0.5, 0.5]]], queries=["it", "rains"])
    >>> [(each.name, round(each.weight, 2)) for each in rank_heads(trace, "it", "rains")]
    [('L0·H0', 0.8), ('L0·H1', 0.1)]
    """
    if step not in ("writes", "reads"):
        raise TraceError(f"A row stands for the step that “writes” a word or “reads” it, not {described(step)}.")
    attention = default_map(trace, kind)
    lens = Lens(attention, View(words=True))
    words, parts = _words_of(trace, attention, lens, step)
    rows, names = [row for word in _several(query) for row in words_at(word, words)], word_names(lens.keys)
    if not rows:
        raise TraceError("There is no word to rank the heads by: name one of the text.")
    columns = (
        [column for word in _several(key) for column in words_at(word, lens.keys)] if key else _elsewhere(rows, lens, attention)
    )
    if not columns:
        raise TraceError(f"“{' '.join(_several(query))}” has no word to look at besides its neighbours: type a longer text.")
    weights = np.mean([rows_weights(attention, lens, parts[row]) for row in rows], axis=0)[..., columns]
    ranked = []
    for layer, head in np.ndindex(attention.n_layers, attention.n_heads):
        row = weights[layer, head]
        weight = float(row.sum() if key else row.max())
        ranked.append(RankedHead(int(layer), int(head), weight, names[columns[int(row.argmax())]]))
    return sorted(ranked, key=lambda each: -each.weight)


def _words_of(
    trace: AttentionTrace, attention: AttentionMap, lens: Lens, step: str
) -> tuple[Sequence[Token], Sequence[Sequence[int]]]:
    """List the words that can look, and for each the rows of the map that are its own."""
    if not has_two_rows(trace, attention):
        return lens.queries, lens.row_parts
    read, count = whole_words(attention.queries), len(attention.queries)
    ends = attention.queries[-1].end
    # What a limit has cut off ends in a word.
    rest = trace.output[ends:]
    words = [*read, ((count,), Token(rest.strip() or "</s>", ends, ends + len(rest), special=not rest.strip()))]
    return [word for _, word in words], [step_rows(positions, count, step) for positions, _ in words]


def has_two_rows(trace: AttentionTrace, attention: AttentionMap) -> bool:
    """Tell whether a word has two rows: a step that writes it, and the next one, which reads it, as a Transformer's decoder."""
    reads = attention.kind == "cross" and attention.queries[0].special
    return reads and any(each.kind == "decoder" for each in trace.maps)


def step_rows(positions: Sequence[int], count: int, step: str) -> list[int]:
    """Find the rows that stand for tokens of a decoder that reads what it wrote; one without such a row has its only one.

    positions  of the tokens among those that are read, the start mark at 0; `count` is the last token, which is only written
    count      how many steps there are

    >>> step_rows([0], 3, "writes"), step_rows([1, 2], 3, "writes"), step_rows([1, 2], 3, "reads"), step_rows([3], 3, "reads")
    ([0], [0, 1], [1, 2], [2])
    """
    back = int(step == "writes")
    return [min(max(position - back, 0), count - 1) for position in positions]


def _elsewhere(rows: Sequence[int], lens: Lens, attention: AttentionMap) -> list[int]:
    """List the words that tell something of each of several."""
    words = word_columns(lens)
    if attention.kind == "cross":
        return words
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
    return np.mean([rows_weights(attention, lens, lens.row_parts[query]) for query in queries], axis=0)


def rows_weights(attention: AttentionMap, lens: Lens, rows: Sequence[int]) -> Float[np.ndarray, "layer head key"]:
    """Read what rows of a map give, on average, to each column of a picture, in every head."""
    begins, ends = min(rows), max(rows) + 1
    weights = np.stack([row_weights(attention, layer, slice(begins, ends)) for layer in range(attention.n_layers)])
    given = weights[:, :, [row - begins for row in rows]].mean(axis=2)
    return np.stack([given[..., list(part)].sum(axis=-1) for part in lens.column_parts], axis=-1)


def strongest_places(weights: Float[np.ndarray, "layer head"], most: int = 5) -> list[tuple[int, int]]:
    """List the layer and the head of the largest weights, the largest first."""
    places = np.argsort(-weights.ravel(), kind="stable")[:most]
    return [(int(layer), int(head)) for layer, head in zip(*np.unravel_index(places, weights.shape), strict=True)]


def _several(words: Words) -> Sequence[str]:
    several = [words] if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
    for word in several:
        if not isinstance(word, str):
            raise TraceError(f"A word is a str, as it stands in the text, not {described(word)}.")
    return several


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
    is_pronoun = lens.queries[row].text.strip().lower() in PRONOUNS
    return before if is_pronoun and before else far


Place = tuple[int, int | None]
# Weights travel to a browser with four digits. Of words and heads that are alike in them the first is chosen, so that app and
# site choose the same.
DIGITS = 4


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
        weights = np.mean([self.row(word) for word in queries], axis=0)[..., list(keys)].sum(axis=-1).round(DIGITS)
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
    layer, head, at = np.unravel_index(int(weights[..., columns].round(DIGITS).argmax()), (*weights.shape[:2], len(columns)))
    return WordLink(word, columns[int(at)], *(place or (int(layer), int(head))))


def _first_word(links: WordLinks, place: Place | None) -> int:
    strongest = _strongest(links, place)
    names = [token.text.strip().lower() for token in links.queries[: len(strongest)]]
    pronouns = [
        word
        for word, name in enumerate(names)
        if name in PRONOUNS and strongest[word] >= LEAST_TELLING and min(_candidates(links, None, word), default=word) < word
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
        links.kept[name] = np.max(strongest, axis=0).astype(np.float32).round(DIGITS)
    return links.kept[name]


def first_cell(matrix: HeadMatrix) -> tuple[int, int]:
    """Choose the cell to look at first: the strongest link between words, else the first typed token's largest weight."""
    if link := strongest_link(matrix):
        return link.query, link.key
    row = next((index for index, token in enumerate(matrix.queries) if not token.special), 0)
    return row, int(matrix.weights[row].argmax())
