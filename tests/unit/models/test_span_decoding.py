"""Answers from logits: equal to a search over every pair, whatever the logits and the limit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.models.span_decoding import best_spans, merged, pair_logits, windows
from attnviz.text.spans import Span, Window

# Few values, so that equal ones are frequent; exact in binary, so that sums are.
VALUES = st.sampled_from([-3.5, -1.0, 0.0, 0.5, 0.5, 2.25, float("-inf")])


@st.composite
def logits(draw) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 13))
    start, end = (np.array(draw(st.lists(VALUES, min_size=n, max_size=n))) for _ in range(2))
    return start, end


def searched(start, end, limit: int, penalty: float, nothing: float | None) -> list[tuple[Span, float]]:
    """All spans, best first, by looking at each: what `best_spans` must find without."""
    n = len(start)
    pairs = [
        (start[s] + end[e] - penalty * (e - s), s, e)
        for s, e in itertools.product(range(n), repeat=2)
        if s <= e <= s + limit and np.isfinite(start[s] + end[e])
    ]
    total = sum(np.exp(score) for score, _, _ in pairs) + (np.exp(nothing) if nothing is not None else 0)
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    return [(Span(s, e, np.exp(score) / total), score) for score, s, e in pairs]


@given(logits(), st.integers(0, 15), st.sampled_from([0.0, 0.25]), st.integers(1, 5), st.sampled_from([None, -2.0, 1.5]))
def test_the_best_spans_are_those_of_a_search_over_all_pairs(values, limit, penalty, n, nothing):
    start, end = values
    want: list[Span] = []
    for span, _ in searched(start, end, limit, penalty, nothing):
        if len(want) < n and not any(span.start <= other.end and other.start <= span.end for other in want):
            want.append(span)
    got = best_spans(start, end, limit=limit, n=n, length_penalty=penalty, nothing=nothing)
    assert [(span.start, span.end) for span in got] == [(span.start, span.end) for span in want]
    np.testing.assert_allclose([span.probability for span in got], [span.probability for span in want], rtol=1e-12)


@given(logits(), st.integers(0, 15), st.sampled_from([0.0, 0.25]))
def test_a_pair_has_the_sum_of_its_logits_less_its_length(values, limit, penalty):
    start, end = values
    actual = pair_logits(start, end, limit=limit, length_penalty=penalty)
    assert actual.shape == (len(start), limit + 1)
    for s, length in itertools.product(range(len(start)), range(limit + 1)):
        inside = s + length < len(start)
        assert actual[s, length] == (start[s] + end[s + length] - penalty * length if inside else -np.inf)


def test_start_and_end_are_found_together():
    """The likeliest start stands behind the likeliest end: each for itself they are no span."""
    start, end = np.array([0.0, 1.0, 5.0]), np.array([0.0, 6.0, 1.0])
    assert [(span.start, span.end) for span in best_spans(start, end, limit=3, n=1)] == [(1, 1)]


def test_nothing_to_choose_from_is_no_span():
    assert best_spans(np.zeros(0), np.zeros(0), limit=3, n=5) == []
    assert best_spans(np.full(7, -np.inf), np.zeros(7), limit=3, n=5) == []


@given(st.integers(0, 200), st.integers(1, 50), st.data())
def test_windows_leave_nothing_out(n_tokens, size, data):
    stride = data.draw(st.integers(1, size))
    actual = windows(n_tokens, size, stride)
    assert set(itertools.chain(*(range(window.start, window.stop) for window in actual))) == set(range(n_tokens))
    assert {window.size for window in actual} == {min(size, n_tokens)}
    assert all(0 < after.start - before.start <= stride for before, after in itertools.pairwise(actual))


@pytest.mark.parametrize("stride", [0, 8])
def test_a_stride_that_skips_tokens_is_refused(stride):
    with pytest.raises(ValueError, match="1 to the window's size"):
        windows(11, 7, stride)


@given(st.integers(1, 60), st.integers(1, 20), st.data())
def test_a_token_has_the_value_of_the_window_that_shows_most_around_it(n_tokens, size, data):
    actual = windows(n_tokens, size, data.draw(st.integers(1, size)))
    values = [np.full(window.size, float(number)) for number, window in enumerate(actual)]
    got = merged(list(zip(actual, values, strict=True)))

    def shown(window: Window, token: int) -> float:
        left = np.inf if window.start == 0 else token - window.start
        right = np.inf if window.stop == n_tokens else window.stop - 1 - token
        return min(left, right)

    for token in range(n_tokens):
        inside = [number for number, window in enumerate(actual) if window.start <= token < window.stop]
        most = max(shown(actual[number], token) for number in inside)
        assert got[token] == next(number for number in inside if shown(actual[number], token) == most)
