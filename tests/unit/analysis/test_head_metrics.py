"""The numbers of a head, on heads made by hand whose numbers are known."""

import math

import numpy as np
import pytest

from attnviz.analysis.head_metrics import HeadMeter, Link, entropy, is_word, measure, strongest_link, summarize
from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.trace import AttentionMap, Token
from attnviz.core.weights import Slab
from tests.factories import dot_product_map, given_map, make_map, numbered, pair, sentence, special, typed

TOKENS = sentence("a b c d e")


def matrix_of(attention: AttentionMap, **view):
    return head_matrix(attention, layer=0, head=0, view=View(**view))


def looking_at(offset: int, n: int = 7) -> np.ndarray:
    """Every token looks at the one `offset` further on; at the edge, at itself."""
    weights = np.zeros((n, n))
    for query in range(n):
        weights[query, query + offset if 0 <= query + offset < n else query] = 1
    return weights


SINK = np.eye(7)[[0] * 7]
UNIFORM = np.full((7, 7), 1 / 7)
# itself, previous, following, special, first, entropy
HEADS = {
    "previous token": (looking_at(-1), (0, 1, 0, 1 / 5, 1 / 5, 0)),
    "next token": (looking_at(1), (0, 0, 1, 1 / 5, 0, 0)),
    "the token itself": (looking_at(0), (1, 0, 0, 0, 0, 0)),
    "two back": (looking_at(-2), (1 / 5, 0, 0, 1 / 5, 1 / 5, 0)),
    "uniform": (UNIFORM, (1 / 7, 1 / 7, 1 / 7, 2 / 7, 1 / 7, math.log2(7))),
    "sink": (SINK, (0, 1 / 5, 0, 1, 1, 0)),
    "half sink, half itself": ((SINK + np.eye(7)) / 2, (0.5, 0.5 / 5, 0, 0.5, 0.5, 1)),
}


@pytest.mark.parametrize(("weights", "numbers"), HEADS.values(), ids=HEADS)
def test_the_shares_of_a_head(weights, numbers):
    actual = summarize(matrix_of(given_map(weights, TOKENS)))
    shares = (actual.itself, actual.previous, actual.following, actual.special, actual.first, actual.entropy)
    assert shares == pytest.approx(numbers, abs=1e-6)


def test_special_tokens_have_no_say_in_a_heads_numbers():
    weights = np.vstack([SINK[:1], looking_at(-1)[1:6], UNIFORM[:1]])
    matrix = matrix_of(given_map(weights, TOKENS))
    assert summarize(matrix).previous == pytest.approx(1)
    assert summarize(matrix).entropy == measure(matrix).entropy == pytest.approx(0)


def test_where_all_tokens_are_special_all_have_their_say():
    tokens = tuple(special(name) for name in ("[CLS]", "[SEP]", "[SEP]"))
    actual = summarize(matrix_of(given_map(looking_at(-1, 3), tokens)))
    assert (actual.previous, actual.special) == (1, 1)


def test_one_token_has_no_neighbours():
    actual = summarize(matrix_of(given_map([[1]], typed("a"))))
    assert (actual.itself, actual.previous, actual.following, actual.first) == (1, 0, 0, 1)


@pytest.mark.parametrize("keys", [TOKENS, numbered(7)], ids=["the same words", "other words"])
def test_between_two_texts_there_is_no_token_before(keys):
    for offset in (-1, 0, 1):
        actual = summarize(matrix_of(given_map(looking_at(offset), TOKENS, keys)))
        assert (actual.itself, actual.previous, actual.following) == (0, 0, 0)


def test_between_the_sentences_of_a_pair_there_is_no_token_before():
    tokens = pair("a b", "c d e")  # four tokens in each
    weights = np.roll(np.eye(8), 4, axis=1)
    actual = summarize(matrix_of(given_map(weights, tokens), between="first-second"))
    assert (actual.itself, actual.previous, actual.following, actual.first) == (0, 0, 0, 0)


def test_a_sink_does_not_hide_a_previous_token_head():
    attention = dot_product_map(numbered(5), sink=np.full(6, -2.0))
    weights = attention.weights(0, 0)
    actual = summarize(matrix_of(attention))
    assert actual.previous == pytest.approx(np.mean([weights[row, row - 1] for row in range(1, 5)]), abs=1e-6)
    assert actual.itself == pytest.approx(np.mean([weights[row, row] for row in range(5)]), abs=1e-6)
    assert actual.special == pytest.approx(weights[:, 5].mean(), abs=1e-6)
    assert actual.following == pytest.approx(np.mean([weights[row, row + 1] for row in range(4)]), abs=1e-6)


def test_a_sink_has_no_place_and_is_neither_near_nor_far():
    attention = dot_product_map(numbered(5), sink=np.full(6, 2.0))
    assert measure(matrix_of(attention)).note["distance"] == measure(matrix_of(attention, hide_special=True)).note["distance"]
    assert measure(matrix_of(attention)).near == pytest.approx(measure(matrix_of(attention, hide_special=True)).near, abs=1e-6)


def test_the_first_token_counts_only_where_it_is_shown():
    attention = given_map(looking_at(-1), TOKENS)
    assert summarize(matrix_of(attention)).first == pytest.approx(1 / 5)
    assert summarize(matrix_of(attention, hide_special=True)).first == 0


def test_entropy_is_that_of_the_shares():
    rows = np.array([[0.5, 0.25, 0.25, 0], [0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0], [0, 0, 0, 0], [0.1, 0.1, 0, 0]])
    np.testing.assert_allclose(entropy(rows), [1.5, 2, 0, 0, 1], atol=1e-12)
    weights = make_map(numbered(11), numbered(13)).weights(1, 1)
    by_hand = [-sum(float(p) * math.log2(p) for p in row) for row in weights]
    np.testing.assert_allclose(entropy(weights), by_hand, rtol=1e-5)
    assert str(float(entropy(rows)[2])) == "0.0"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("it", True),
        ("3", True),
        ("中", True),
        ("مرحبا", True),
        ("'", False),
        ("…", False),
        ("🙂", False),
        (" ", False),
        ("a.", True),
    ],
)
def test_words_have_a_letter_or_a_digit(text, word):
    assert is_word(Token(text, 0, len(text))) is word
    assert not is_word(Token(text, 0, 0, special=True))


def strongest(tokens, cells, **view):
    """The strongest link where the given cells have weight, in order of it; what is left goes to [CLS]."""
    weights = np.zeros((len(tokens), len(tokens)))
    for (query, key), weight in cells.items():
        weights[query, key] = weight
    weights[:, 0] += 1 - weights.sum(axis=1)
    return strongest_link(matrix_of(given_map(weights, tokens), **view))


def test_the_strongest_link_is_between_two_words():
    # [CLS] a , b|c d [SEP]: a link to a special token, punctuation, itself, its own word; then to another word.
    tokens = sentence("a , b|c d")
    cells = {
        (1, 6): 0.9,
        (6, 3): 0.95,
        (1, 2): 0.08,
        (2, 3): 0.9,
        (3, 3): 0.5,
        (3, 4): 0.45,
        (4, 3): 0.9,
        (5, 4): 0.3,
        (5, 1): 0.2,
    }
    actual = strongest(tokens, cells)
    assert actual is not None
    assert (actual.query, actual.key, actual.weight) == (5, 4, pytest.approx(0.3))
    merged = strongest(tokens, cells, words=True)
    assert merged is not None
    assert (merged.query, merged.key, merged.weight) == (4, 3, pytest.approx(0.3))


def test_a_word_may_look_at_its_repetition():
    actual = strongest(sentence("the cat the"), {(3, 1): 0.5, (3, 3): 0.25, (1, 2): 0.375})
    assert actual == Link(3, 1, 0.5)


def test_words_of_the_same_number_in_two_sentences_are_two_words():
    actual = strongest(pair("a", "b"), {(3, 1): 0.5, (1, 3): 0.25})
    assert actual == Link(3, 1, 0.5)


def test_words_of_two_texts_are_never_the_same_one():
    tokens = typed("Paris i|s")
    diagonal = np.array([[0.75, 0.125, 0.125], [0.25, 0.5, 0.25], [0.125, 0.625, 0.25]])
    assert strongest_link(matrix_of(given_map(diagonal, tokens, tokens))) == Link(0, 0, 0.75)
    assert strongest_link(matrix_of(given_map(diagonal, tokens))) == Link(1, 0, 0.25)


def test_a_sink_does_not_make_a_self_link_strongest():
    attention = dot_product_map(numbered(5), sink=np.full(6, -2.0))
    weights = attention.weights(0, 0)[:, :5].copy()
    np.fill_diagonal(weights, 0)
    actual = strongest_link(matrix_of(attention))
    assert actual is not None
    assert (actual.query, actual.key) == np.unravel_index(weights.argmax(), weights.shape)


@pytest.mark.parametrize("text", ["a", ", .", "a|b|c"])
def test_no_two_words_have_no_strongest_link(text):
    assert strongest_link(matrix_of(make_map(sentence(text)))) is None


def test_words_that_ignore_each_other_have_no_strongest_link():
    assert strongest_link(matrix_of(given_map(SINK, TOKENS))) is None


@pytest.mark.parametrize(
    ("weights", "near", "distance"),
    [
        (looking_at(-1), 1, 1),
        (looking_at(-2), 1 / 5, 8 / 5),
        (looking_at(0), 1, 0),
        (SINK, 1 / 5, 3),
        (UNIFORM, 3 / 7, np.mean([abs(query - key) for query in range(1, 6) for key in range(7)])),
    ],
    ids=["previous", "two back", "itself", "sink", "uniform"],
)
def test_how_far_a_head_looks(weights, near, distance):
    numbers = measure(matrix_of(given_map(weights, TOKENS)))
    assert (numbers.near, numbers.distance) == pytest.approx((near, distance), abs=1e-6)


def test_distance_counts_the_keys_that_are_shown():
    matrix = matrix_of(given_map((SINK + np.eye(7)) / 2, TOKENS), hide_special=True)
    assert measure(matrix).distance == 0


def test_a_row_that_sees_nothing_has_no_distance():
    weights = np.eye(7, k=1) + np.eye(7, k=-6)
    weights[3] = 0
    assert measure(matrix_of(given_map(weights, numbered(7)))).distance == pytest.approx((5 + 6) / 7)


def test_between_two_texts_there_is_no_distance():
    numbers = measure(matrix_of(given_map(np.full((2, 3), 1 / 3), numbered(2), numbered(3))))
    assert (numbers.distance, numbers.near) == (None, 0)


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"sink": np.full(6, -2.0)}, {"visible": np.tri(331, dtype=bool)}], ids=str
)
@pytest.mark.parametrize("tokens", [numbered(331), (special("<s>"), *typed("a b|c , a " * 82), special("</s>"))], ids=len)
def test_a_head_that_is_computed_by_the_slab_has_the_numbers_of_its_matrix(
    tokens, options: dict, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("attnviz.core.weights.SLAB_CELLS", 13 * 331)
    if "visible" in options:
        options = {"visible": np.tri(len(tokens), dtype=bool)}
    attention = dot_product_map(tokens, layers=1, **options)
    for head in (0, 5):
        matrix = head_matrix(attention, layer=0, head=head)
        meter = HeadMeter(matrix.queries, matrix.keys, matrix.own)
        for slab in attention.slabs(0, head):
            meter.add(slab)
        got, want = meter.numbers(), measure(matrix)
        assert (got.link, got.near) == (want.link, pytest.approx(want.near, rel=1e-5))
        assert (got.entropy, got.distance) == pytest.approx((want.entropy, want.distance), rel=1e-5)
        rows = [row for row, token in enumerate(tokens) if not token.special]
        weights, places = attention.weights(0, head).astype(float)[rows], np.array(rows)
        assert got.entropy == pytest.approx(
            -np.sum(weights * np.log2(np.where(weights > 0, weights, 1)), axis=1).mean(), rel=1e-4
        )
        away = np.abs(places[:, None] - np.arange(weights.shape[1]))
        assert got.distance == pytest.approx((weights * away).sum(axis=1).mean(), rel=1e-4)
        assert got.near == pytest.approx(np.where(away < 2, weights, 0).sum(axis=1).mean(), rel=1e-4)


def test_a_slab_may_hold_special_tokens_alone():
    matrix = matrix_of(given_map((SINK + np.eye(7)) / 2, TOKENS))
    meter = HeadMeter(matrix.queries, matrix.keys, matrix.own)
    for row in range(7):
        meter.add(Slab(slice(row, row + 1), matrix.weights[row : row + 1], None))
    assert meter.numbers() == measure(matrix)


@pytest.mark.parametrize("causal", [False, True])
def test_the_numbers_of_a_long_text_are_those_of_all_its_rows_at_once(causal: bool, monkeypatch: pytest.MonkeyPatch):
    count = 331
    monkeypatch.setattr("attnviz.analysis.head_metrics.SLAB_CELLS", 7 * count)
    attention = make_map(numbered(count), layers=1, heads=1, causal=causal)
    matrix = head_matrix(attention, layer=0, head=0)
    weights, positions = attention.weights(0, 0).astype(np.float64), np.arange(count)
    away = np.abs(positions[:, None] - positions)
    bits = -np.where(weights > 0, weights * np.log2(np.where(weights > 0, weights, 1)), 0).sum(axis=1)
    numbers = measure(matrix)
    assert numbers.entropy == pytest.approx(bits.mean(), rel=1e-5)
    assert numbers.distance == pytest.approx((weights * away).sum(axis=1).mean(), rel=1e-5)
    near = [weights[row, max(row - 1, 0) : row + 2].sum() for row in positions]
    assert numbers.near == pytest.approx(np.mean(near), rel=1e-5)
    link = strongest_link(matrix)
    assert link == numbers.link
    assert link
    assert (link.query, link.key) == divmod(int(np.where(away > 0, weights, 0).argmax()), count)
