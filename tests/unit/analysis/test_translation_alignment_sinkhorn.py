"""Balanced attention: what its sums are, and what it does not change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.translation_alignment import balanced, differences


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**31))
def test_rows_sum_to_one_and_columns_alike(n_queries, n_keys, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(n_keys), n_queries)
    actual = balanced(weights)
    np.testing.assert_allclose(actual.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(actual.sum(axis=0), n_queries / n_keys, atol=0.1)
    assert (actual >= 0).all()


def test_a_permutation_stays_one():
    weights = np.eye(5)[[3, 1, 4, 0, 2]]
    assert (balanced(weights).argmax(axis=1) == [3, 1, 4, 0, 2]).all()
    assert balanced(weights).max(axis=1).min() > 0.98


def test_uniform_attention_stays_uniform():
    np.testing.assert_allclose(balanced(np.full((3, 7), 1 / 7)), 1 / 7)


def test_a_popular_key_gives_way_to_the_second_best():
    """All three look most at key 1; each of the other keys belongs to the query that likes it best."""
    weights = np.array([[0.4, 0.6, 0.0], [0.05, 0.9, 0.05], [0.0, 0.55, 0.45]])
    assert (balanced(weights).argmax(axis=1) == [0, 1, 2]).all()


def test_a_query_that_sees_nothing_stays_blind():
    weights = np.array([[0.5, 0.5], [0.0, 0.0]])
    actual = balanced(weights)
    assert (actual[1] == 0).all()
    np.testing.assert_allclose(actual[0], 0.5)


def test_columns_and_rows_are_scaled_in_turn_twenty_times():
    dice = np.random.default_rng(3)
    weights, allowed = dice.dirichlet(np.full(5, 0.2), 4), dice.random((4, 5)) < 0.6
    weights[2], allowed[3], allowed[:, 4] = 0, False, False
    seen = [0, 1]
    table = np.array([[weights[row, key] + 0.001 if allowed[row, key] else 0.0 for key in range(5)] for row in seen])
    for _ in range(20):
        for key in range(5):
            table[:, key] *= len(seen) / 5 / (table[:, key].sum() or 1)
        for row in table:
            row /= row.sum()
    np.testing.assert_allclose(balanced(weights, allowed)[seen], table)
    assert not balanced(weights, allowed)[2:].any()


def test_words_that_most_others_do_not_have_there_differ():
    texts = ["le chat dort .", "le chien dort .", "le chat dort !", "le chat dort ."]
    assert [[text[slice(*span)] for span in spans] for text, spans in zip(texts, differences(texts), strict=True)] == [
        [], ["chien"], ["!"], [],
    ]  # fmt: skip
    assert differences(texts[:2]) == (((3, 7),), ((3, 8),))
    # Of two others one is no majority.
    assert differences(["a b", "a c", "a b"]) == ((), ((2, 3),), ())
    # A word that is everywhere in a long text is a word like any other.
    assert differences(["b " + "a " * 211, "c " + "a " * 211]) == (((0, 1),), ((0, 1),))
