"""From a map to what is drawn: one head or the mean of a layer, whole words or subwords, with or without special tokens."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar, get_args
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.core.errors import ArgumentError, TraceError, described
from attnviz.core.trace import AttentionMap, AttentionTrace, Token, WeightStore, check_trace
from attnviz.core.weights import DerivedWeights, LayerWeights, QueryKeyWeights
from attnviz.text.words import visible, visible_text


def row_weights(attention: AttentionMap, layer: int, rows: slice) -> LayerWeights:
    """Read the weights of the queries from `rows.start` to `rows.stop`.

    Raises:
        TraceError: there is no such layer.
    """
    if not isinstance(attention.store, QueryKeyWeights):
        return attention.layer_weights(layer)[:, rows]
    whole = attention.store.layers[layer]
    # A sink has a column of its own, and edits are laid over whole heads.
    if whole.sink is not None or whole.edited is not None:
        return attention.layer_weights(layer)[:, rows]
    visible = whole.visible_keys()
    part = replace(
        whole,
        query=whole.query[:, rows],
        bias=None if whole.bias is None else whole.bias[:, rows],
        visible=None if visible is None else visible[rows],
        causal=False,
    )
    return part.weights(slice(None))


def whole_words(tokens: tuple[Token, ...]) -> list[tuple[tuple[int, ...], Token]]:
    """Merge the tokens of every word into one, and say where its parts stand among `tokens`.

    >>> cat, s = Token("cat", 0, 3, word=0), Token("s", 3, 4, word=0)
    >>> [(parts, word.text) for parts, word in whole_words((cat, s))]
    [((0, 1), 'cats')]
    """
    return [(tuple(group), joined([tokens[index] for index in group])) for group in word_groups(tokens)]


def word_groups(tokens: tuple[Token, ...]) -> list[list[int]]:
    """Group neighbouring tokens of one word; a token of no word stands alone."""
    groups: list[list[int]] = []
    for index, token in enumerate(tokens):
        previous = tokens[index - 1] if index else None
        if previous and token.word is not None and (token.word, token.segment) == (previous.word, previous.segment):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def joined(tokens: list[Token]) -> Token:
    """Join tokens to one that stands for them; characters that several of them cover (a split emoji) are written once.

    A part that covers none, such as the mark before a word that is a piece of its own, is not written.
    """
    if len(tokens) == 1:
        return tokens[0]
    tokens = [token for token in tokens if token.end > token.start] or tokens
    first, text, end = tokens[0], "", tokens[0].start
    for token in tokens:
        text += token.text[max(end - token.start, 0) :]
        end = max(end, token.end)
    return replace(first, text=text, end=end, piece="")


# So many names stand in a message.
MOST_NAMES = 12


def word_names(tokens: Sequence[Token]) -> list[str]:
    """Name every token so that each name stands once: its text, and of several alike but for capitals their number.

    >>> word_names((Token("The", 0, 3), Token("cat", 4, 7), Token("the", 8, 11)))
    ['The(1)', 'cat', 'the(2)']
    """
    texts = [token.text.strip() or (visible_text(token.text) if token.text else token.piece) for token in tokens]
    forms = [text.casefold() for text in texts]
    counts, seen = Counter(forms), Counter[str]()
    names = []
    for text, form in zip(texts, forms, strict=True):
        seen[form] += 1
        names.append(f"{text}({seen[form]})" if counts[form] > 1 else text)
    return names


def word_at(word: str, tokens: Sequence[Token]) -> int:
    """Find a word among tokens by its name of `word_names`; capitals and invisible characters do not matter.

    Raises:
        TraceError: there is none, or there are several; the message names them.
    """
    names, wanted = word_names(tokens), visible(word).strip().casefold()
    forms = [visible(name).casefold() for name in names]
    if len(places := [at for at, form in enumerate(forms) if form == wanted]) == 1:
        return places[0]
    if alike := [name for name, form in zip(names, forms, strict=True) if re.sub(r"\(\d+\)$", "", form) == wanted]:
        raise TraceError(f"“{word}” stands {len(alike)} times in the text: write {_listed(alike, ' or ')}.")
    raise TraceError(f"There is no word “{word[:40]}”: there are {_listed(names, ', ')}.")


def words_at(word: str, tokens: Sequence[Token]) -> list[int]:
    """Find a word among tokens, or neighbours that are it together: "New York", and "東京", which has a token a character.

    What stands there several times has a number, as in `word_names`.

    Raises:
        TraceError: there is none, or there are several; the message says what to write.

    >>> words_at("東京", (Token("私", 0, 1), Token("東", 1, 2), Token("京", 2, 3)))
    [1, 2]
    """
    try:
        return [word_at(word, tokens)]
    except TraceError:
        name = visible(word).strip().casefold()
        if number := re.search(r"\((\d+)\)$", name):
            name = name[: number.start()]
        runs = [run for begin in range(len(tokens)) if len(run := _joined(name, tokens, begin)) > 1]
        if number is None and len(runs) > 1:
            names = [f"{word}({place})" for place in range(1, len(runs) + 1)]
            raise TraceError(f"“{word}” stands {len(runs)} times in the text: write {_listed(names, ' or ')}.") from None
        if not 0 <= (place := int(number[1] if number else 1) - 1) < len(runs):
            raise
        return runs[place]


def _joined(name: str, tokens: Sequence[Token], begin: int) -> list[int]:
    """List the tokens from `begin` on that together are the name, with space where it has some; none where they are not."""
    run, rest = [], name
    for place in range(begin, len(tokens)):
        text, is_apart = visible(tokens[place].text).casefold(), rest[:1].isspace()
        rest = rest.lstrip()
        if not text or not rest.startswith(text) or (run and is_apart == (tokens[place].start == tokens[place - 1].end)):
            return []
        run, rest = [*run, place], rest[len(text) :]
        if not rest:
            return run
    return []


def _listed(names: Sequence[str], between: str) -> str:
    return between.join(names[:MOST_NAMES]) + " …" * (len(names) > MOST_NAMES)


Between = Literal["all", "first-first", "first-second", "second-first", "second-second"]
BETWEEN: tuple[Between, ...] = get_args(Between)
SomeView = TypeVar("SomeView", bound="HeadView")
# A matrix is made once for all who look at it at the same time; it is not kept when they have gone.
_MATRICES: WeakKeyDictionary[AttentionMap, WeakValueDictionary[tuple[int, int | None, "View"], "HeadMatrix"]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True)
class View:
    """Which tokens a picture shows, and how.

    words         subwords merged to words: the sum over the keys of a word, the mean over its queries
    hide_special  rows and columns of special tokens are left out; rows then sum to what is left
    renormalize   rows are divided by their sum, so that what is shown sums to 1
    between       of a pair: queries of one sentence and keys of the other ("first-second")
    """

    words: bool = False
    hide_special: bool = False
    renormalize: bool = False
    between: Between = "all"


@dataclass(frozen=True, eq=False)
class HeadMatrix:
    """The weights of one head, or the mean of a layer's, as they are drawn.

    rows     for each query, the position in the map of its first token; columns: the same for each key
    own      for each query, the index of the column that is the same token; None where there is none: it is not shown, or
             queries and keys are different texts
    hidden   share of the shown rows' attention that goes to keys not shown, 0 to 1 (also when rows are renormalized)
    causal   whether a query looks at no key that is later than itself, the last query being the last key
    """

    weights: Float[np.ndarray, "query key"]
    visible: Bool[np.ndarray, "query key"]
    queries: tuple[Token, ...]
    keys: tuple[Token, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    own: tuple[int | None, ...]
    hidden: float = 0.0
    causal: bool = False

    def part(self, rows: range, columns: range) -> "HeadMatrix":
        """Cut the matrix to neighbouring rows and columns, by their numbers."""
        down, across = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        own = (None if place is None or place not in columns else place - columns.start for place in self.own[down])
        return replace(
            self, weights=self.weights[down, across], visible=self.visible[down, across], queries=self.queries[down],
            keys=self.keys[across], rows=self.rows[down], columns=self.columns[across], own=tuple(own),
        )  # fmt: skip


@dataclass(frozen=True)
class HeadView:
    """Which head is looked at, and how it is drawn.

    head        None: the mean over the layer's heads
    full_scale  colours run from 0 to 1; False: to the largest weight shown
    """

    layer: int
    head: int | None
    view: View
    full_scale: bool

    def within(self: SomeView, attention: AttentionMap, *, mean: bool = False) -> SomeView:
        """Look at a map that may have fewer layers or heads: at its last; with `mean` at the mean over the layer's heads."""
        head = None if self.head is None or mean else min(self.head, attention.n_heads - 1)
        return replace(self, layer=min(self.layer, attention.n_layers - 1), head=head)

    def matrix(self, attention: AttentionMap) -> HeadMatrix:
        """Make the matrix of the head in a map.

        Raises:
            TraceError: as of `head_matrix`.
        """
        return head_matrix(attention, layer=self.layer, head=self.head, view=self.view)


def default_map(trace: AttentionTrace, kind: str | None = None) -> AttentionMap:
    """Choose the map of that kind; where none is named, the last, which is the cross-attention, if there is one.

    Raises:
        ArgumentError: this is no trace.
        TraceError: there is no such map.
    """
    check_trace(trace)
    return trace.map(kind) if kind else trace.maps[-1]


def default_layer(attention: AttentionMap, layer: int | None = None) -> int:
    """Choose that layer; where none is named, the last."""
    return attention.n_layers - 1 if layer is None else layer


def head_weights(attention: AttentionMap, layer: int, head: int | None = None) -> Float[np.ndarray, "query key"]:
    """Read the weights of that head; where none is named, the mean over the heads of the layer.

    Raises:
        TraceError: there is no such layer or head.
    """
    return attention.layer_weights(layer).mean(axis=0) if head is None else attention.weights(layer, head)


def head_matrix(attention: AttentionMap, *, layer: int, head: int | None, view: View | None = None) -> HeadMatrix:
    """Make the matrix of one head, or with `head=None` of the mean over the heads of the layer.

    Raises:
        TraceError: there is no such layer or head, or the view leaves no token.
        ArgumentError: this is no view.

    >>> from attnviz.core.trace import DenseWeights
    >>> cat, s = Token("cat", 0, 3, word=0), Token("s", 3, 4, word=0)
    >>> attention = AttentionMap("encoder", (cat, s), (cat, s), DenseWeights((np.array([[[0.5, 0.5], [0.25, 0.75]]]),)))
    >>> head_matrix(attention, layer=0, head=0).weights.tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    >>> merged = head_matrix(attention, layer=0, head=0, view=View(words=True))
    >>> merged.keys[0].text, merged.weights.tolist()
    ('cats', [[1.0]])
    """
    attention.check_place(layer, head)
    kept, name = _MATRICES.setdefault(attention, WeakValueDictionary()), (layer, head, check_view(view or View()))
    if (matrix := kept.get(name)) is None:
        weights = head_weights(attention, layer, head)
        matrix = kept[name] = Lens(attention, name[2]).matrix(weights, attention.visible(layer))
    return matrix


def check_view(view: object) -> View:
    """Return a view as it is.

    Raises:
        ArgumentError: it is none.
    """
    if not isinstance(view, View):
        raise ArgumentError(f"A view is one of attnviz.analysis.head_view, such as View(words=True), not {described(view)}.")
    return view


class Lens:
    """A view prepared for one map, to look at many of its heads: which rows and columns merge, and which are kept.

    whole  whether every token is shown, as itself
    """

    def __init__(self, attention: AttentionMap, view: View) -> None:
        self.view = check_view(view)
        self._rows = _Axis.of(attention.queries, view, "queries")
        self._columns = _Axis.of(attention.keys, view, "keys")
        if not self._rows.tokens or not self._columns.tokens:
            raise TraceError("Nothing is left to show: every token is hidden. Show special tokens, or all sentences.")
        self.whole = len(self._rows.tokens) == len(attention.queries) and len(self._columns.tokens) == len(attention.keys)
        self._causal = attention.causal and self.whole
        shift, columns = _shift(attention), {position: index for index, position in enumerate(self._columns.first)}
        self.own = tuple(None if shift is None else columns.get(position + shift) for position in self._rows.first)

    @property
    def queries(self) -> tuple[Token, ...]:
        return self._rows.tokens

    @property
    def keys(self) -> tuple[Token, ...]:
        return self._columns.tokens

    @cached_property
    def row_parts(self) -> tuple[tuple[int, ...], ...]:
        """For each row the queries of the map that it stands for."""
        return tuple(tuple(part.tolist()) for part in self._rows.parts)

    @cached_property
    def column_parts(self) -> tuple[tuple[int, ...], ...]:
        """For each column the keys of the map that it stands for."""
        return tuple(tuple(part.tolist()) for part in self._columns.parts)

    def over_keys(self, rows: Float[np.ndarray, "row key"]) -> Float[np.ndarray, "row column"]:
        """Merge and hide the keys of some rows, as the view says."""
        shown = self._columns.total(rows.T).T
        if self.view.renormalize:
            kept = shown.sum(axis=1)
            shown = np.divide(shown, kept[:, None], out=np.zeros_like(shown), where=kept[:, None] > 0)
        return shown

    def matrix(self, weights: Float[np.ndarray, "query key"], visible: Bool[np.ndarray, "query key"]) -> HeadMatrix:
        """Make the matrix of one head: its weights, and what its layer may look at, both as the map gives them."""
        by_query = self._rows.mean(weights)
        shown = self.over_keys(by_query)
        hidden = 0.0
        # A long text has millions of cells: they are summed only where a sum can tell something.
        if len(self._columns.index) < weights.shape[1] and (whole := float(by_query.sum())) > 0:
            hidden = 1 - float(self._columns.total(by_query.T).sum()) / whole
        return HeadMatrix(
            weights=shown.astype(np.float32, copy=False),
            visible=self._columns.any(self._rows.any(visible).T).T,
            queries=self.queries,
            keys=self.keys,
            rows=self._rows.first,
            columns=self._columns.first,
            own=self.own,
            hidden=max(hidden, 0.0),
            # A sink is a last key that the first query can see.
            causal=self._causal and not visible[0, -1],
        )


@dataclass(frozen=True, eq=False)
class _Axis:
    """The tokens of one axis after merging and hiding, and for each where its parts stand in the map."""

    tokens: tuple[Token, ...]
    parts: tuple[Int[np.ndarray, "_"], ...]

    @staticmethod
    def of(tokens: tuple[Token, ...], view: View, axis: Literal["queries", "keys"]) -> "_Axis":
        groups = word_groups(tokens) if view.words else [[index] for index in range(len(tokens))]
        kept = [group for group in groups if _is_shown(tokens[group[0]], view, axis)]
        return _Axis(
            tuple(joined([tokens[index] for index in group]) for group in kept), tuple(np.array(group) for group in kept)
        )

    @cached_property
    def first(self) -> tuple[int, ...]:
        return tuple(int(part[0]) for part in self.parts)

    @cached_property
    def index(self) -> Int[np.ndarray, " _"]:
        """Where all parts stand in the map."""
        return np.concatenate(self.parts)

    def total(self, rows: Float[np.ndarray, "row other"]) -> Float[np.ndarray, "kept other"]:
        """Sum what the tokens of a word receive."""
        return self._merge(rows, np.add)

    def mean(self, rows: Float[np.ndarray, "row other"]) -> Float[np.ndarray, "kept other"]:
        """Average what the tokens of a word give."""
        total = self.total(rows)
        if len(self.index) == len(self.parts):
            return total
        return total / np.array([[len(part)] for part in self.parts], dtype=rows.dtype)

    def any(self, rows: Bool[np.ndarray, "row other"]) -> Bool[np.ndarray, "kept other"]:
        """Let a word be looked at where one of its tokens can."""
        return self._merge(rows, np.logical_or)

    def _merge(self, rows: np.ndarray, combine: np.ufunc) -> np.ndarray:
        index = self.index
        if len(index) > len(self.parts):
            starts = np.cumsum([0, *(len(part) for part in self.parts[:-1])])
            return combine.reduceat(rows[index], starts, axis=0)
        # Nothing merges; and where nothing is hidden either, a copy of a large head would be wasted.
        return rows if len(index) == len(rows) else rows[index]


def _shift(attention: AttentionMap) -> int | None:
    """Count how many keys stand before the one that is the first query: 0, or what a cache held; None between two texts."""
    queries, keys = attention.queries, attention.keys
    shifts = () if attention.kind == "cross" else (0, len(keys) - len(queries))
    return next((shift for shift in shifts if keys[shift : shift + len(queries)] == queries), None)


def _is_shown(token: Token, view: View, axis: Literal["queries", "keys"]) -> bool:
    if view.hide_special and token.special:
        return False
    if view.between == "all":
        return True
    query, key = view.between.split("-")
    wanted = query if axis == "queries" else key
    return token.segment == ("first", "second").index(wanted)


# From so many rows or columns on, a text is long.
LONG = 128
# This share of the weights is at most the limit: the others have the strongest colour.
SHARE = 0.99
# Faint noise must not look strong: colours end at so many times what each key gets where all get the same, at least.
TIMES_EVEN = 5


def colour_limit(matrix: HeadMatrix) -> float | None:
    """Find the weight from which on the cells of a long text have the strongest colour; None of a short text.

    It is the 99th percentile of the weights that are not masked, the nearest of them, or five times an even weight.

    >>> from attnviz.core.trace import AttentionMap, DenseWeights, Token
    >>> from attnviz.analysis.head_view import head_matrix
    >>> tokens = tuple(Token(str(at), 2 * at, 2 * at + 1) for at in range(200))
    >>> even = AttentionMap("encoder", tokens, tokens, DenseWeights((np.full((1, 200, 200), 1 / 200, np.float32),)))
    >>> round(colour_limit(head_matrix(even, layer=0, head=0)), 6)
    0.025
    """
    if max(matrix.weights.shape) < LONG:
        return None
    weights = matrix.weights[matrix.visible]
    if not weights.size:
        return None
    rank = math.ceil(SHARE * weights.size) - 1
    return max(float(np.partition(weights, rank)[rank]), TIMES_EVEN / matrix.weights.shape[1])


@dataclass(frozen=True, eq=False)
class DifferenceWeights(DerivedWeights):
    """The store less the one before, head by head: numbers from -1 to 1, whose rows sum to 0 unless a head was switched off."""

    before: WeightStore

    @property
    def nbytes(self) -> int:
        return 0

    def head(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        return self.store.head(layer, head) - self.before.head(layer, head)

    def layer(self, layer: int) -> Float[np.ndarray, "head query key"]:
        return self.store.layer(layer) - self.before.layer(layer)

    def visible(self, layer: int) -> Bool[np.ndarray, "query key"] | None:
        return self.before.visible(layer)


def difference(before: AttentionMap, after: AttentionMap) -> AttentionMap | None:
    """Subtract the map before from the one after; None where they are not over the same tokens.

    >>> from attnviz.core.trace import DenseWeights, Token
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> maps = [AttentionMap("encoder", tokens, tokens, DenseWeights((np.array([[[x, 1 - x], [0, 1]]]),))) for x in (0.25, 1.0)]
    >>> difference(*maps).weights(0, 0).tolist()
    [[0.75, -0.75], [0.0, 0.0]]
    """
    if (before.queries, before.keys) != (after.queries, after.keys):
        return None
    return AttentionMap(after.kind, after.queries, after.keys, DifferenceWeights(after.store, before.store), after.causal)


def is_difference(attention: AttentionMap) -> bool:
    """Tell whether a map is the difference of two."""
    return isinstance(attention.store, DifferenceWeights)
