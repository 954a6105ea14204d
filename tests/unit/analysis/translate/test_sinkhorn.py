"""Balanced attention: what its sums are, and what it does not change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.translate.sinkhorn import balanced


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
