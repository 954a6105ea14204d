"""Every measure equals a plain loop over the weights, and the heads that were planted are found."""

import math

import numpy as np
import pytest

from attnviz.analysis.heads.measures import (
    FURTHEST,
    MEASURES,
    TokenPlaces,
    distance_histogram,
    induction,
)
from attnviz.core.trace import Token

WORDS = ["[CLS]", "the", "cat", ",", "The", "dog", "the", "cat", "[SEP]", "a", "b", "[SEP]"]
SEGMENTS = [0] * 9 + [1] * 3
TOKENS = tuple(
    Token(word, 0, 0 if word.startswith("[") else 1, special=word.startswith("["), segment=segment)
    for word, segment in zip(WORDS, SEGMENTS, strict=True)
)
N, HEADS = len(WORDS), 3


@pytest.fixture
def weights() -> np.ndarray:
    values = np.random.default_rng(7).random((HEADS, N, N)).astype(np.float32) ** 4
    return values / values.sum(axis=2, keepdims=True)


def columns(name: str, i: int) -> list[int] | None:
    """The columns that a measure sums in row i; None: it cannot be taken of that row."""
    typed = [j for j in range(N) if not TOKENS[j].special]
    same = [j for j in typed if j < i and WORDS[j].lower() == WORDS[i].lower()]
    steps = {"self": 0, "previous": -1, "next": 1}
    if name in steps:
        return [i + steps[name]] if i + steps[name] in typed else None
    actual = {
        "first": [0], "last": [N - 1], "special": [j for j in range(N) if TOKENS[j].special],
        "punctuation": [j for j in typed if WORDS[j] == ","], "same": same,
        "after same": [j + 1 for j in same if j + 1 in typed and j + 1 != i],
        "block": [j for j in typed if SEGMENTS[j] != SEGMENTS[i]],
    }[name]  # fmt: skip
    return actual or None


def expected(name: str, row: np.ndarray, i: int) -> float | None:
    if name == "entropy":
        return -sum(float(w) * math.log2(w) for w in row if w > 0)
    if name == "confidence":
        return max(float(w) for w, token in zip(row, TOKENS, strict=True) if not token.special)
    if name == "distance":
        return sum(float(w) * abs(i - j) for j, w in enumerate(row))
    actual = columns(name, i)
    return None if actual is None else sum(float(row[j]) for j in actual)


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_equals_a_plain_loop(name, weights):
    measured = MEASURES[name](weights, TokenPlaces(TOKENS, TOKENS))
    rows = [i for i in range(N) if not TOKENS[i].special]
    for at, i in enumerate(rows):
        for head in range(HEADS):
            want = expected(name, weights[head, i], i)
            assert bool(measured.measured[at]) == (want is not None), (name, WORDS[i])
            if want is not None:
                assert measured.values[head, at] == pytest.approx(want, abs=1e-6)


def test_the_histogram_equals_a_plain_loop(weights):
    actual = distance_histogram(weights, TokenPlaces(TOKENS, TOKENS))
    for head in range(HEADS):
        want = np.zeros(2 * FURTHEST + 1)
        for i in range(N):
            for j in range(N):
                if not (TOKENS[i].special or TOKENS[j].special):
                    want[min(max(j - i, -FURTHEST), FURTHEST) + FURTHEST] += weights[head, i, j]
        np.testing.assert_allclose(actual[head], want, atol=1e-6)


def test_induction_equals_a_plain_loop(weights):
    period = 5
    want = [np.mean([weights[head, i, i - period + 1] for i in range(period, N)]) for head in range(HEADS)]
    np.testing.assert_allclose(induction(weights, period), want, atol=1e-6)


@pytest.mark.parametrize(("name", "steps"), [("previous", -1), ("next", 1), ("self", 0)])
def test_a_planted_head_is_found(name, steps):
    planted = np.eye(N, k=steps, dtype=np.float32)[None]
    measured = MEASURES[name](planted, TokenPlaces(TOKENS, TOKENS))
    assert (measured.values[:, measured.measured] == 1).all()


def test_between_two_texts_nobody_has_a_place_of_its_own(weights):
    places = TokenPlaces(TOKENS, TOKENS, own=False)
    for name in ("self", "previous", "next", "same", "after same", "distance"):
        assert not MEASURES[name](weights, places).measured.any(), name
