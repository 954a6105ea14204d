"""A weight taken apart: product, scaling, softmax."""

import math

import numpy as np
import pytest

from attnviz.analysis.head_metrics import score
from attnviz.core.errors import TraceError
from tests.factories import dot_product_map, make_map, numbered


@pytest.mark.parametrize(("head", "key_heads"), [(0, 6), (1, 3), (4, 3), (4, 2), (5, 1)])
def test_a_weight_is_the_softmax_of_its_scaled_products(head, key_heads):
    attention = dot_product_map(numbered(7), key_heads=key_heads)
    vectors = attention.store.layers[1]
    for query in (0, 3, 6):
        scores = [score(attention, layer=1, head=head, query=query, key=key) for key in range(7)]
        assert None not in scores
        for key, actual in enumerate(scores):
            # Neighbouring query heads share one key head.
            shared = vectors.key[head * key_heads // 6, key]
            product = sum(float(q) * float(k) for q, k in zip(vectors.query[head, query], shared, strict=True))
            assert actual.product == pytest.approx(product, abs=1e-5)
            assert (actual.scaling, actual.dim) == (0.7, 5)
            assert actual.scaled == pytest.approx(0.7 * product, abs=1e-5)
            assert actual.weight == float(attention.weights(1, head)[query, key])
        energies = [math.exp(actual.scaled) for actual in scores]
        np.testing.assert_allclose([energy / sum(energies) for energy in energies], [s.weight for s in scores], atol=1e-6)


def test_a_masked_weight_is_zero():
    attention = dot_product_map(numbered(5), causal=True)
    actual = score(attention, layer=0, head=0, query=1, key=3)
    assert actual is not None
    assert actual.weight == 0
    assert actual.product != 0


TERMS = {"bias": np.ones((1, 5, 5)), "softcap": 20.0, "sink": np.ones(6)}


@pytest.mark.parametrize("term", TERMS)
def test_a_score_with_another_term_is_not_told(term):
    assert score(dot_product_map(numbered(5), **{term: TERMS[term]}), layer=0, head=0, query=0, key=0) is None


def test_weights_without_their_scores_are_not_taken_apart():
    assert score(make_map(numbered(5)), layer=0, head=0, query=0, key=0) is None


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"layer": 2}, "no layer 2"), ({"head": 6}, "no head 6"), ({"query": 5}, "no query 5"), ({"query": -1}, "no query -1"),
        ({"key": 5}, "no key 5"), ({"key": -1}, "no key -1"),
    ],
)  # fmt: skip
def test_a_place_that_is_not_there_is_named(where, message):
    with pytest.raises(TraceError, match=message):
        score(dot_product_map(numbered(5)), **({"layer": 0, "head": 0, "query": 0, "key": 0} | where))
