"""Rank the heads of a map by what was asked: by a link between two words, or by how far they look for one word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_view import Lens, View, default_map
from attnviz.analysis.token_words import row_weights, whole_words, word_names, words_at
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
    merged to words; where words have no spaces, a word is its tokens, which touch: "東京". Of several queries the mean counts,
    of several keys the sum. Without a key, a head is ranked by the word that it looks at hardest besides the query itself, its
    two neighbours, punctuation and special tokens (`elsewhere`).

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
