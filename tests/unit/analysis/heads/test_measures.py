"""Every measure equals a plain loop over the weights, and the heads that were planted are found."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.heads import measures
from attnviz.analysis.heads.measures import MEASURES, TokenPlaces, distance_histogram, induction
from attnviz.core.errors import CorpusError
from attnviz.core.trace import Token
from tests.factories import make_map

SPECIAL = ["[CLS]", "the", "cat", ",", "The", "dog", "the", "cat", "[SEP]", "a", "b", "[SEP]"]
# Without special tokens, longer than the histogram reaches, a word beside itself, one letter first and last.
TYPED = ["a", "a", "b", "a", "!", *"cdefghijklmnopq", "B", "a"]
HEADS = 3


def tokens_of(words: list[str]) -> tuple[Token, ...]:
    """Those in brackets are special; what follows the second of them is another text."""
    segments = np.cumsum([word == "[SEP]" for word in ["", *words[:-1]]])
    return tuple(
        Token(word, 0, 0 if word.startswith("[") else 1, special=word.startswith("["), segment=int(segment))
        for word, segment in zip(words, segments, strict=True)
    )


@pytest.fixture(params=[SPECIAL, TYPED], ids=["special", "typed"])
def tokens(request: pytest.FixtureRequest) -> tuple[Token, ...]:
    return tokens_of(request.param)


@pytest.fixture
def weights(tokens) -> np.ndarray:
    values = np.random.default_rng(7).random((HEADS, len(tokens), len(tokens))).astype(np.float32) ** 4
    return values / values.sum(axis=2, keepdims=True)


def columns(name: str, i: int, tokens: tuple[Token, ...]) -> list[int] | None:
    """The columns that a measure sums in row i; None: it cannot be taken of that row."""
    words, n = [token.text for token in tokens], len(tokens)
    typed = [j for j in range(n) if not tokens[j].special]
    same = [j for j in typed if j < i and words[j].lower() == words[i].lower()]
    steps = {"self": 0, "previous": -1, "next": 1}
    if name in steps:
        return [i + steps[name]] if i + steps[name] in typed else None
    always = {"first": [0], "last": [n - 1], "special": [j for j in range(n) if tokens[j].special],
              "punctuation": [j for j in typed if words[j] in ",!"]}  # fmt: skip
    if name in always:
        return always[name]
    return {
        "same": same, "after same": [j + 1 for j in same if j + 1 in typed and j + 1 != i],
        "block": [j for j in typed if tokens[j].segment != tokens[i].segment],
    }[name] or None  # fmt: skip


def expected(name: str, row: np.ndarray, i: int, tokens: tuple[Token, ...]) -> float | None:
    if name == "entropy":
        return -sum(float(w) * math.log2(w) for w in row if w > 0)
    if name == "confidence":
        return max(float(w) for w, token in zip(row, tokens, strict=True) if not token.special)
    if name == "distance":
        return sum(float(w) * abs(i - j) for j, w in enumerate(row))
    actual = columns(name, i, tokens)
    return None if actual is None else sum(float(row[j]) for j in actual)


def test_a_sink_is_no_last_token_and_at_no_distance():
    tokens = tokens_of(TYPED)
    places = TokenPlaces(tokens, (*tokens, Token("sink", 0, 0, special=True)))
    weights = np.random.default_rng(7).random((HEADS, len(tokens), len(tokens) + 1)).astype(np.float32)
    for name in ("last", "distance"):
        whole = MEASURES[name](weights[..., :-1], TokenPlaces(tokens, tokens)).values
        np.testing.assert_allclose(MEASURES[name](weights, places).values, whole, atol=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_equals_a_plain_loop(name, weights, tokens):
    measured = MEASURES[name](weights, TokenPlaces(tokens, tokens))
    rows = [i for i, token in enumerate(tokens) if not token.special]
    for at, i in enumerate(rows):
        for head in range(HEADS):
            want = expected(name, weights[head, i], i, tokens)
            assert bool(measured.measured[at]) == (want is not None), (name, i)
            if want is not None:
                assert measured.values[head, at] == pytest.approx(want, abs=1e-6)


def test_the_histogram_equals_a_plain_loop(weights, tokens):
    actual = distance_histogram(weights, TokenPlaces(tokens, tokens))
    for head in range(HEADS):
        want = np.zeros(2 * 16 + 1)
        for i, j in np.ndindex(weights.shape[1:]):
            if not (tokens[i].special or tokens[j].special):
                want[min(max(j - i, -16), 16) + 16] += weights[head, i, j]
        np.testing.assert_allclose(actual[head], want, atol=1e-6)


def test_of_special_tokens_alone_nothing_is_measured():
    places = TokenPlaces(*[tokens_of(["[CLS]", "[SEP]"])] * 2)
    weights = np.full((1, 2, 2), 0.5, np.float32)
    assert not distance_histogram(weights, places).any()
    assert not any(compute(weights, places).measured.any() for compute in MEASURES.values())


def test_what_is_summed_of_a_text_is_what_its_measures_say():
    attention = make_map(tokens_of(SPECIAL), layers=2, heads=3)
    got, places = measures.measure(attention, "a text"), TokenPlaces.of(attention)
    for at, (name, compute) in enumerate(MEASURES.items()):
        for layer, head in np.ndindex(2, 3):
            measured = compute(attention.layer_weights(layer), places)
            values = measured.values[head][measured.measured].astype(float)
            assert (got.rows[at], got.texts[at], got.row_squares[at]) == (len(values), len(values) > 0, len(values) ** 2), name
            sums = got.sums[at, layer, head], got.squares[at, layer, head], got.text_squares[at, layer, head]
            assert sums == pytest.approx((values.sum(), (values**2).sum(), values.sum() ** 2), rel=1e-5)
            assert got.cross[at, layer, head] == pytest.approx(len(values) * values.sum(), rel=1e-5)
            if len(values):
                assert got.means[at, layer, head] == pytest.approx(values.mean(), rel=1e-5)
            else:
                assert np.isnan([got.means[at, layer, head], got.errors[at, layer, head]]).all()
    assert (got.read, got.tokens, got.examples) == (1, len(SPECIAL), ((measures.priority("a text"), "a text"),))
    assert measures.measure(attention).examples == ()
    one = measures.measure(make_map(tokens_of(["[CLS]", "a", "[SEP]"])))
    assert one.texts.tolist() == (one.rows > 0).tolist() == one.rows.tolist()


def test_a_layer_attends_that_moves_anything_and_every_layer_before_a_text_is_read():
    nothing = measures.Statistics.empty(2, 3)
    assert nothing.attending.tolist() == [True, True]
    little = nothing.histogram.copy()
    little[1, 2, 0] = 0.25
    assert replace(nothing, histogram=little, read=1).attending.tolist() == [False, True]


def test_merged_statistics_are_sums_and_keep_the_examples_of_least_hash():
    texts = [f"text {at}" for at in range(measures.RESERVOIR + 7)]
    parts = [measures.measure(make_map(tokens_of(SPECIAL[: 3 + at % 5])), text) for at, text in enumerate(texts)]
    whole = measures.merge(*parts)
    for field in measures.FIELDS:
        np.testing.assert_allclose(getattr(whole, field), sum(getattr(part, field) for part in parts))
    assert whole.examples == tuple(sorted((measures.priority(text), text) for text in texts)[:64])
    assert (whole.read, whole.tokens) == (len(texts), sum(part.tokens for part in parts))
    with pytest.raises(CorpusError, match="different heads"):
        measures.merge(parts[0], measures.measure(make_map(tokens_of(SPECIAL), heads=2)))
    assert measures.Statistics.empty(2, 3).attending.all()


def test_rows_are_the_columns_tokens_unless_they_are_other_texts():
    cat, dog = tokens_of(["the", "cat"]), tokens_of(["the", "dog"])
    one, more = make_map(cat), make_map(cat, (*cat, *dog))
    assert [TokenPlaces.of(each).own for each in (one, more, replace(one, keys=dog), replace(more, kind="decoder"))] == [
        True, False, False, True,
    ]  # fmt: skip


def test_induction_equals_a_plain_loop(weights):
    period = 5
    want = [np.mean([weights[head, i, i - period + 1] for i in range(period, weights.shape[1])]) for head in range(HEADS)]
    np.testing.assert_allclose(induction(weights, period), want, atol=1e-6)


@pytest.mark.parametrize(("name", "steps"), [("previous", -1), ("next", 1), ("self", 0)])
def test_a_planted_head_is_found(name, steps):
    tokens = tokens_of(SPECIAL)
    planted = np.eye(len(tokens), k=steps, dtype=np.float32)[None]
    measured = MEASURES[name](planted, TokenPlaces(tokens, tokens))
    assert (measured.values[:, measured.measured] == 1).all()


def test_between_two_texts_nobody_has_a_place_of_its_own(weights, tokens):
    places = TokenPlaces(tokens, tokens, own=False)
    for name in ("self", "previous", "next", "same", "after same", "distance"):
        assert not MEASURES[name](weights, places).measured.any(), name
