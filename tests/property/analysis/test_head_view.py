"""Laws of a view that hold for every map, every text and every choice."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attnviz.analysis.head_metrics import entropy, strongest_link, summarize
from attnviz.analysis.head_view import BETWEEN, HeadMatrix, Lens, View
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionMap, DenseWeights, Token

laws = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@st.composite
def texts(draw) -> tuple[Token, ...]:
    """Words of one to three tokens, special tokens anywhere, of one sentence or two."""
    tokens: list[Token] = []
    for segment in range(draw(st.integers(1, 2))):
        for word in range(draw(st.integers(1, 5))):
            if draw(st.booleans()):
                tokens.append(Token("[SEP]", 0, 0, special=True, segment=segment))
            parts = draw(st.integers(1, 3))
            tokens += [
                Token(draw(st.sampled_from("ab,🙂")), part, part + 1, segment=segment, word=word) for part in range(parts)
            ]
    return tuple(tokens)


@dataclass(frozen=True)
class Case:
    """One head over one text or between two, sharp or flat; some rows see nothing."""

    queries: tuple[Token, ...]
    keys: tuple[Token, ...] | None
    seed: int
    sharpness: int
    blind: float

    @property
    def attention(self) -> AttentionMap:
        generator, keys = np.random.default_rng(self.seed), self.keys or self.queries
        weights = generator.random((1, 1, len(self.queries), len(keys))) ** self.sharpness
        weights /= weights.sum(axis=-1, keepdims=True)
        weights *= (generator.random(len(self.queries)) >= self.blind)[:, None]
        return AttentionMap("cross" if self.keys else "encoder", self.queries, keys, DenseWeights(tuple(weights)))


cases = st.builds(
    Case, texts(), st.none() | texts(), st.integers(0, 2**32), st.sampled_from([0, 1, 20]), st.sampled_from([0.0, 0.4])
)
views = st.builds(View, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(BETWEEN))


def looked_at(attention: AttentionMap, view: View) -> HeadMatrix | None:
    """The matrix, None where the view leaves no token."""
    try:
        return Lens(attention, view).matrix(attention.weights(0, 0), attention.visible(0))
    except TraceError:
        return None


@laws
@given(cases, views)
def test_what_is_shown_and_what_is_hidden_is_all_there_is(case, view):
    attention = case.attention
    matrix = looked_at(attention, view)
    assume(matrix is not None)
    assert matrix is not None
    assert matrix.weights.shape == matrix.visible.shape == (len(matrix.queries), len(matrix.keys))
    assert (matrix.weights >= 0).all()
    assert (matrix.weights <= 1 + 1e-6).all()
    assert 0 <= matrix.hidden <= 1
    sums = matrix.weights.sum(axis=1)
    if view.renormalize:
        assert all(total == pytest.approx(1, abs=1e-5) or total == 0 for total in sums)
        return
    # Each row of a word is the mean of its tokens' rows: what it shows and what it hides make up what they give.
    weights, ends = attention.weights(0, 0), [*matrix.rows[1:], len(attention.queries)]
    given = []
    for row, (start, end) in enumerate(zip(matrix.rows, ends, strict=True)):
        word = attention.queries[start]
        parts = [
            index for index in range(start, end)
            if index == start or (view.words and word.word is not None
            and (attention.queries[index].word, attention.queries[index].segment) == (word.word, word.segment))
        ]  # fmt: skip
        given.append(np.mean([weights[index].sum() for index in parts]))
        assert sums[row] <= given[row] + 1e-6
    assert sum(given) * (1 - matrix.hidden) == pytest.approx(sums.sum(), abs=1e-5)


@laws
@given(cases, views)
def test_the_numbers_of_any_head_are_shares(case, view):
    attention = case.attention
    matrix = looked_at(attention, view)
    assume(matrix is not None)
    assert matrix is not None
    actual = summarize(matrix)
    for share in (actual.itself, actual.previous, actual.following, actual.special, actual.first):
        assert 0 <= share <= 1 + 1e-6
    assert 0 <= actual.entropy <= np.log2(len(matrix.keys)) + 1e-5
    assert (entropy(matrix.weights) >= 0).all()
    link = strongest_link(matrix)
    if link:
        assert link.weight == matrix.weights[link.query, link.key] > 0
        assert link.key != matrix.own[link.query]
