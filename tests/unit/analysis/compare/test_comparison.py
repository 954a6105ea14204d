"""Two traces compared, against the definition written out number by number."""

import math

import numpy as np
import pytest

from attnviz.analysis.compare.comparison import compare
from attnviz.analysis.wording import plain
from attnviz.core.errors import TraceError
from attnviz.core.trace import AttentionTrace, Prompt
from tests.factories import given_map, make_map, sentence, typed

BEFORE, AFTER = sentence("it was tired now"), sentence("it was really tired now")


def trace(attention) -> AttentionTrace:
    return AttentionTrace("mine", Prompt("text"), (attention,))


def reference(one: dict[str, float], other: dict[str, float]) -> float:
    """Σ over all keys of (p log2 p/m + q log2 q/m) / 2, m the mean of both."""
    total = 0.0
    for key in {*one, *other}:
        p, q = one.get(key, 0.0), other.get(key, 0.0)
        m = (p + q) / 2
        total += sum(share * math.log2(share / m) / 2 for share in (p, q) if share > 0)
    return total


def test_every_head_is_the_mean_of_its_rows_by_the_definition():
    one, other = make_map(BEFORE), make_map(AFTER)
    actual = compare(trace(one), trace(other))
    assert actual.divergence.shape == (2, 3)
    for layer in range(2):
        for head in range(3):
            rows = []
            for left, right in actual.queries:
                shares = [
                    {token.text: float(weight) for token, weight in zip(each.keys, each.weights(layer, head)[at], strict=True)}
                    for each, at in ((one, left), (other, right))
                ]
                rows.append(reference(*shares))
            assert actual.divergence[layer, head] == pytest.approx(np.mean(rows), abs=1e-6)
            np.testing.assert_allclose(actual.rows(layer, head), rows, atol=1e-6)


def test_a_trace_is_not_far_from_itself_and_a_head_that_is_off_is_far_from_all():
    one = make_map(BEFORE)
    assert not compare(trace(one), trace(one)).divergence.any()
    said = compare(trace(one), trace(one)).sentence()
    assert plain(said).endswith("looks where it looked before.")
    off = given_map(np.zeros((3, 3)), typed("a b c"))
    on = given_map(np.eye(3), typed("a b c"))
    actual = compare(trace(on), trace(off))
    assert actual.divergence[0, 0] == pytest.approx(1)
    assert "looks at nothing" in plain(actual.sentence())


def test_the_sentence_says_what_changed_most():
    one = given_map([[0.9, 0.1, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal street"))
    other = given_map([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], typed("it animal street"))
    actual = compare(trace(one), trace(other))
    said = plain(actual.sentence())
    assert f"L0·H0 changed most, {actual.divergence[0, 0]:.2f} bits" in said
    assert "“it” now looks at “street” (0.70, was 0.00)" in said
    np.testing.assert_allclose(actual.difference(0, 0)[0], [-0.8, 0.1, 0.7], atol=1e-6)


def test_what_cannot_be_compared_is_one_sentence():
    with pytest.raises(TraceError, match="models of one shape"):
        compare(trace(make_map(BEFORE)), trace(make_map(BEFORE, heads=5)))
    with pytest.raises(TraceError, match="no token in common"):
        compare(trace(make_map(typed("a b"))), trace(make_map(typed("c d e"))))
