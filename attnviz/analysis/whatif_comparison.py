"""Two traces side by side: two texts, two models, or before and after an edit; how far each head's attention has moved.

Tokens are aligned by their text; between those that are equal, as many on both sides stand for each other one by one. A row is
compared with the row of the aligned query, over all keys of both: what only one side has is a key of its own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.analysis.head_metrics import is_word
from attnviz.analysis.head_ranking import PRONOUNS
from attnviz.analysis.head_view import default_map, word_names
from attnviz.analysis.wording import Part, Sentence, head_name, head_words, percent, quoted, signed
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, AttentionTrace, Head, HeadCosts, RemovalCurve, Token
from attnviz.core.weights import layers_of_heads

Pairs = tuple[tuple[int, int], ...]

# What can be changed, as the page What if calls it.
CHANGES = {"word": "Another word", "head": "A head off", "model": "Another model", "patch": "From another text"}


def change_of(example: Mapping[str, Any]) -> str:
    """Tell which change an example shows.

    >>> change_of({"text": "a", "other": "b"}), change_of({"text": "a", "edits": "e0.2z"})
    ('word', 'head')
    """
    fields = {"rather": "patch", "second": "model", "edits": "head"}
    return next((change for name, change in fields.items() if example.get(name)), "word")


def side_names(models: tuple[str, str], *, is_edited: bool) -> tuple[str, str]:
    """Name both sides of a comparison by what differs: the models as they are called, the edit, or the text."""
    if models[0] != models[1]:
        return models
    return ("All heads on", "After the edit") if is_edited else ("First text", "Second text")


def align_tokens(before: Sequence[Token], after: Sequence[Token]) -> Pairs:
    """Pair the tokens of two texts: those of equal text in order, and between them runs of one length, one by one.

    >>> texts = [[Token(word, 0, 0) for word in text.split()] for text in ("it was too tired .", "it was really too wide .")]
    >>> align_tokens(*texts)
    ((0, 0), (1, 1), (2, 3), (3, 4), (4, 5))
    """
    texts = [[(token.text, token.special) for token in tokens] for tokens in (before, after)]
    pairs: list[tuple[int, int]] = []
    for step, start, stop, first, last in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if step == "equal" or (step == "replace" and stop - start == last - first):
            pairs += zip(range(start, stop), range(first, last), strict=True)
    return tuple(pairs)


@dataclass(frozen=True)
class Interval:
    """A mean, and the bounds that 95 % of resampled means lie in."""

    mean: float
    low: float
    high: float


def bootstrap(
    totals: Float[np.ndarray, "text *condition"],
    sizes: Float[np.ndarray, " text"],
    *,
    draws: int = 1000,
    seed: int = 1979,
    one_by_one: bool = False,
) -> Float[np.ndarray, "2 *condition"]:
    """Compute 95 % intervals of Σ totals / Σ sizes over texts that are drawn again and again, with replacement.

    Texts of size 0 are not drawn, for the ratio is of the others. The draws are the same every time. `one_by_one` draws them as
    the figures on the models' cards were drawn: text after text, not how often each comes. Of none nothing is known: 0 to 1.

    >>> bootstrap(np.ones((5, 1)), np.ones(5)).tolist()
    [[1.0], [1.0]]
    """
    totals, sizes = totals[sizes > 0], sizes[sizes > 0]
    n, dice = len(sizes), np.random.default_rng(seed)
    if not n:
        return np.stack([np.zeros(totals.shape[1:]), np.ones(totals.shape[1:])])
    if one_by_one:
        counts = np.array([np.bincount(row, minlength=n) for row in dice.integers(0, n, (draws, n))])
    else:
        counts = dice.multinomial(n, np.full(n, 1 / n), size=draws)
    ratios = counts @ totals.reshape(n, -1) / (counts @ sizes)[:, None]
    return np.quantile(ratios, [0.025, 0.975], axis=0).reshape(2, *totals.shape[1:])


def mean_interval(values: Sequence[float]) -> Interval:
    """Average over texts, with its 95 % interval.

    >>> mean_interval([1.0, 1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0)
    """
    array = np.asarray(values, dtype=float)
    low, high = bootstrap(array, np.ones(len(array)), draws=2000, seed=0, one_by_one=True)
    return Interval(float(array.mean()), float(low), float(high))


# A change that is smaller tells nothing of a pronoun, nor of two words where there is a larger one.
LEAST_TOLD = 0.1


@dataclass(frozen=True)
class Change:
    """A link between two tokens: its weight was, and is now. A token that stands for another one is named as both."""

    query: Token
    key: Token
    was: float
    now: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two maps of one shape, and how far their heads are apart.

    queries, keys  which places of both are the same token: those of `before` and of `after`
    divergence     the mean over aligned rows of the Jensen-Shannon divergence, in bits: 0 where they are equal, 1 where they
                   have no key in common; Lin 1991, doi:10.1109/18.61115
    """

    before: AttentionMap
    after: AttentionMap
    queries: Pairs
    keys: Pairs
    divergence: Float[np.ndarray, "layer head"]

    @property
    def is_off(self) -> Bool[np.ndarray, "layer head"]:
        """Tell which heads have no key in common at all, as one has that is switched off."""
        return self.divergence > 1 - 1e-5

    @property
    def has_changed(self) -> bool:
        """Tell whether any head looks elsewhere on the second side."""
        return bool(self.divergence.any())

    @property
    def most(self) -> tuple[int, int]:
        """The layer and head that changed most; one that looks at nothing on one side, only where there is no other."""
        layer, head = np.unravel_index(int(np.where(self.is_off, -1, self.divergence).argmax()), self.divergence.shape)
        return int(layer), int(head)

    def rows(self, layer: int, head: int) -> Float[np.ndarray, " row"]:
        """Compute the divergence of each aligned row of a head, in bits."""
        one, other = np.array(self.queries).T
        weights = self.before.weights(layer, head)[one], self.after.weights(layer, head)[other]
        return divergence(*_over_all_keys(*weights, self.keys))

    def difference(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        """After less before, of one head: rows and columns are the aligned tokens."""
        before, after = (
            attention.weights(layer, head)[np.ix_([pair[side] for pair in self.queries], [pair[side] for pair in self.keys])]
            for side, attention in enumerate((self.before, self.after))
        )
        return after - before

    def changes(self, layer: int, head: int, most: int = 6) -> tuple[Change, ...]:
        """List the links between aligned tokens that changed most in a head, the largest change first."""
        moved, links = self.difference(layer, head), []
        maps = self.before.weights(layer, head), self.after.weights(layer, head)
        looking, seen = word_names(self.after.queries), word_names(self.after.keys)
        for place in np.argsort(-np.abs(moved), axis=None, kind="stable")[:most].tolist():
            row, column = divmod(place, len(self.keys))
            if not moved[row, column]:
                break
            query, key = self.queries[row], self.keys[column]
            was, now = float(maps[0][query[0], key[0]]), float(maps[1][query[1], key[1]])
            looks = _both(self.before.queries[query[0]], self.after.queries[query[1]], looking[query[1]])
            links.append(Change(looks, _both(self.before.keys[key[0]], self.after.keys[key[1]], seen[key[1]]), was, now))
        return tuple(links)

    def sentence(self, place: tuple[int, int] | None = None, models: tuple[str, str] | None = None) -> Sentence:
        """Say which word looks elsewhere in a head, or in the first to look at; between `models`, where each looks."""
        if not self.has_changed:
            return (Part("Nothing changed: "), Part("both sides are the same in every head", True), Part("."))
        if place is None and not models and self._pronoun_link:
            return self._of_pronoun()
        layer, head = place or self.most
        weights = self.before.weights(layer, head), self.after.weights(layer, head)
        name = Part(head_words(layer, head, capital=True), True)
        if not self.rows(layer, head).any():
            return (name, Part(" looks where it looked before." if models is None else " looks at the same in both models."))
        if not weights[1].any():
            return (name, Part(" is off: no word looks anywhere in it."))
        query, key, was = self._largest_change(*weights)
        own, row = self.queries[query]
        is_less = was is not None and bool(weights[1][row, key] < weights[0][own, was])
        word, share = self.before.queries[own].text, "" if was is None else percent(float(weights[0][own, was]))
        if was is None:
            before = ", new here"
        elif models:
            before = f", in {models[0]} {share}"
        else:
            same = self.before.keys[was].text == self.after.keys[key].text
            other = "" if same else f"“{self.before.keys[was].text}” "
            before = f", was {share}" if same else f"; before, {other}got {share}"
            if word != self.after.queries[row].text:
                before = f"; in its place “{word}” gave {other}{share}"
        return (
            *((Part(f"In {models[1]} "),) if models else ()),
            quoted(self.after.queries[row].text),
            Part(f"{'' if models else ' now'} looks {'less ' if is_less else ''}at "),
            quoted(self.after.keys[key].text),
            Part(f" ({percent(float(weights[1][row, key]))}{before})"),
            *self._in(layer, head),
        )

    def describe_place(self, place: tuple[int, int] | None = None) -> Sentence:
        """Say how much a head changed, or the one to look at first, and its place among all."""
        if not self.has_changed:
            return (Part("Change a word of the second text, or choose another head or model."),)
        layer, head = place or self.first
        changed = float(self.divergence[layer, head])
        change = f"Average change {percent(changed)}"
        if self.divergence.size == 1:
            return (Part(f"{change}."),)
        larger = int((self.divergence[~self.is_off] > changed).sum())
        rank = f"rank {larger + 1} of {self.divergence.size}{f'; first: {head_words(*self.most)}' if larger else ''}"
        return (Part(f"{change} ({rank})."), Part(" Click another.", hint=True))

    def shown_head(self, place: tuple[int, int] | None, *, are_models: bool = False) -> tuple[int, int]:
        """Return the layer and head that were chosen, else those to look at first."""
        return place or (self.most if are_models else self.first)

    @cached_property
    def first(self) -> tuple[int, int]:
        """The layer and head to look at first: where the first pronoun looks elsewhere, else the one that changed most."""
        return self._pronoun_link[:2] if self._pronoun_link else self.most

    @cached_property
    def _pronoun_link(self) -> tuple[int, int, int, int] | None:
        """Find the layer and head in which the first pronoun looks much more or less at a word of both sides, and which.

        Its row and its column are indices of `queries` and `keys`.
        """
        queries, keys = self.before.queries, self.before.keys
        rows = [
            row for row, (one, other) in enumerate(self.queries)
            if queries[one].text.casefold() in PRONOUNS and queries[one].text == self.after.queries[other].text
        ]  # fmt: skip
        columns = [
            column for column, (one, other) in enumerate(self.keys)
            if is_word(keys[one]) and keys[one].text == self.after.keys[other].text
            and keys[one].text.casefold() not in PRONOUNS
        ]  # fmt: skip
        if not rows or not columns:
            return None
        old, new = (
            np.array([attention.layer_weights(layer)[:, self.queries[rows[0]][side]] for layer in range(attention.n_layers)])
            [..., [self.keys[column][side] for column in columns]]
            for side, attention in enumerate((self.before, self.after))
        )  # fmt: skip
        moved = np.where(self.is_off[..., None], 0, np.abs(new - old))
        layer, head, place = map(int, np.unravel_index(int(moved.argmax()), moved.shape))
        return (layer, head, rows[0], columns[place]) if moved[layer, head, place] >= LEAST_TOLD else None

    def _of_pronoun(self) -> Sentence:
        """Say where the first pronoun looked, and how much it still does."""
        assert self._pronoun_link
        layer, head, row, column = self._pronoun_link
        (query, query_after), (key, key_after) = self.queries[row], self.keys[column]
        weights = self.before.weights(layer, head)[query, key], self.after.weights(layer, head)[query_after, key_after]
        was, now = map(float, weights)
        return (
            quoted(self.before.queries[query].text), Part(f" now looks {'less' if now < was else 'more'} at "),
            quoted(self.before.keys[key].text), Part(f" ({percent(now)}, was {percent(was)})"),
            *self._in(layer, head),
        )  # fmt: skip

    def _in(self, layer: int, head: int) -> Sentence:
        """Close a sentence with the head that it is about, where there are several."""
        return (*((Part(" in "), Part(head_words(layer, head), True)) if self.divergence.size > 1 else ()), Part("."))

    def _largest_change(
        self, before: Float[np.ndarray, "query key"], after: Float[np.ndarray, "row column"]
    ) -> tuple[int, int, int | None]:
        """Find the link that changed most: its aligned row, its key after, and that key before, if it was there.

        Links from a word to another come first, and among them what was lost before a small gain.
        """
        old = dict.fromkeys(range(after.shape[1])) | {new: left for left, new in self.keys}
        gains = np.stack([
            after[row] - np.array([0.0 if old[key] is None else before[left, old[key]] for key in old])
            for left, row in self.queries
        ])  # fmt: skip
        is_self = self.after.queries == self.after.keys
        telling = np.array([
            [is_word(self.after.queries[row]) and is_word(each) and not (is_self and row == key)
             for key, each in enumerate(self.after.keys)]
            for _, row in self.queries
        ])  # fmt: skip
        most, least = float(gains[telling].max(initial=0)), float(gains[telling].min(initial=0))
        if most < LEAST_TOLD <= -least:
            gains = -gains
        elif most <= 0 or most < LEAST_TOLD <= gains.max():
            telling = np.ones_like(telling)
        row, key = np.unravel_index(int(np.where(telling, gains, -np.inf).argmax()), gains.shape)
        return int(row), int(key), old[int(key)]


def compare(before: AttentionTrace, after: AttentionTrace, *, kind: str | None = None) -> Comparison:
    """Compare the maps of one kind of two traces; where nothing is said, the last of the first trace (the cross-attention).

    Raises:
        TraceError: they have other layers or heads, no such map, or no token in common.
    """
    one = default_map(before, kind)
    other = default_map(after, one.kind)
    sizes = [(each.n_layers, each.n_heads) for each in (one, other)]
    if sizes[0] != sizes[1]:
        raise TraceError(
            f"{before.model} has {layers_of_heads(*sizes[0])} and {after.model} has {layers_of_heads(*sizes[1])}: compare "
            "models of one shape, head by head."
        )
    queries, keys = align_tokens(one.queries, other.queries), align_tokens(one.keys, other.keys)
    if not queries or not keys:
        raise TraceError("These two texts have no token in common: compare texts that differ in some words.")
    left, right = np.array(queries).T
    table = []
    for layer in range(one.n_layers):
        weights = _over_all_keys(one.layer_weights(layer)[:, left], other.layer_weights(layer)[:, right], keys)
        table.append(divergence(*weights).mean(axis=-1))
    return Comparison(one, other, queries, keys, np.stack(table))


def _both(before: Token, after: Token, name: str) -> Token:
    return replace(after, text=name if before.text == after.text else f"{before.text}/{name}")


def divergence(one: Float[np.ndarray, "*batch key"], other: Float[np.ndarray, "*batch key"]) -> Float[np.ndarray, "*batch"]:
    """Compute the Jensen-Shannon divergence of distributions, H((p + q) / 2) - (H(p) + H(q)) / 2 in bits, 0 to 1.

    >>> divergence(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]])).tolist()
    [1.0, 0.0]
    """
    bits = _entropy((one + other) / 2) - (_entropy(one) + _entropy(other)) / 2
    return np.clip(bits, 0, 1)


def _entropy(shares: Float[np.ndarray, "*batch key"]) -> Float[np.ndarray, "*batch"]:
    shares = np.asarray(shares, dtype=np.float64)
    return -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1)


def _over_all_keys(
    one: Float[np.ndarray, "*batch left"], other: Float[np.ndarray, "*batch right"], keys: Pairs
) -> tuple[Float[np.ndarray, "*batch key"], Float[np.ndarray, "*batch key"]]:
    """Lay rows of both over the same columns: those of the first, those that only the second has, and what is left over."""
    n_left, n_right = one.shape[-1], other.shape[-1]
    place: Int[np.ndarray, " right"] = np.full(n_right, -1)
    for left, right in keys:
        place[right] = left
    alone = np.flatnonzero(place < 0)
    place[alone] = n_left + np.arange(len(alone))
    wide = [np.zeros((*rows.shape[:-1], n_left + len(alone) + 1)) for rows in (one, other)]
    wide[0][..., :n_left], wide[1][..., place] = one, other
    for rows in wide:
        # A head that is off looks at nothing, which is no key of the other.
        rows[..., -1] = np.maximum(1 - rows.sum(axis=-1), 0)
        rows /= rows.sum(axis=-1, keepdims=True)
    return wide[0], wide[1]


def name_of(head: Head, costs: HeadCosts) -> str:
    """Name a head, with the kind of its attention where the model has several."""
    name = head_name(*head[1:])
    return name if len(costs.costs) == 1 else f"{head[0]} {name}"


_SCALE = "0 is as before, 1 unrelated. "
_HARMLESS = "Without any single head the output stays as likely, or becomes likelier."


def written_cost(cost: float, largest: float) -> str:
    """Write a cost with as many digits as the largest of its picture needs.

    >>> written_cost(0.0123, 3.3), written_cost(-0.0123, 0.05), written_cost(-0.00001, 0.5)
    ('0.01', '−0.012', '0.000')
    """
    digits = 2 if largest >= 1 else 3 if largest >= 0.01 else 4
    return signed(cost, f".{digits}f")


def describe_costs(costs: HeadCosts, chosen: Head | None = None) -> tuple[Sentence, Sentence]:
    """Say what the output loses without the chosen head, or the most costly one; and how many heads cost next to nothing."""
    most = costs.ranked[-1]
    head, heads = chosen or most, len(costs.ranked)
    place = heads - costs.ranked.index(head)
    rank = f"the most of all {heads}" if place == 1 and costs.of(head) > 0 else f"number {place} of {heads}"
    lead = (Part("Without "), Part(_in_words(head, costs), True), Part(f" {_effect(costs.of(head), costs)}: {rank}."))
    few = sum(costs.of(each) < costs.of(most) / 10 for each in costs.ranked)
    tenth = "that" if head == most else f"the most, which is {_in_words(most, costs)}"
    verb, scale = ("change it by", _SCALE) if costs.unit == "cosine" else ("cost", "")
    rest = f"{scale}{few} of the {heads} heads {verb} less than a tenth of {tenth}." if costs.of(most) > 0 else _HARMLESS
    return lead, (Part(rest), Part(" Click another head.", hint=True))


def _in_words(head: Head, costs: HeadCosts) -> str:
    return head_words(*head[1:], "" if len(costs.costs) == 1 else head[0])


def _effect(cost: float, costs: HeadCosts) -> str:
    """Say what a cost means for the output.

    >>> _effect(2.76, HeadCosts("nats", -3.0, {})), _effect(-0.1, HeadCosts("nats", -3.0, {}))
    ('the output is 16 times less likely', 'the output is 1.1 times likelier')
    >>> _effect(0.055, HeadCosts("cosine", 0.0, {}))
    'the model reads this text differently, by 0.055'
    """
    if costs.unit == "cosine":
        return f"the model reads this text differently, by {written_cost(cost, abs(cost))}"
    times = math.exp(min(abs(cost), 600))
    if times < 1.005:
        return "the output stays as likely"
    digits = 0 if times >= 10 else 1 if times >= 1.1 else 2
    return f"the output is {times:.{digits}f} times {'less likely' if cost > 0 else 'likelier'}"


def describe_curve(curve: RemovalCurve) -> Sentence:
    """Say what half of all heads cost together: the least costly, random ones, the most costly."""
    place = min(range(len(curve.counts)), key=lambda at: abs(curve.counts[at] - curve.counts[-1] / 2))
    drawn = curve.random[:, place]
    largest = max(float(curve.most.max()), float(curve.random.max()))
    least, mean, low, high, most = (
        written_cost(float(cost), largest)
        for cost in (curve.least[place], drawn.mean(), drawn.min(), drawn.max(), curve.most[place])
    )
    heads = f"{curve.counts[place]} of {curve.counts[-1]} heads at once"
    return (
        Part(f"Switching off {heads} costs {least} if they are the least important, {most} if the most important, "),
        Part(f"{mean} if random ({low} to {high} in {len(drawn)} draws)."),
    )
