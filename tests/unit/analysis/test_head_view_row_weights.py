"""Rows of a layer that are read alone are those of the whole layer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.head_view import row_weights
from attnviz.core.errors import TraceError
from attnviz.core.weights import EditedHeads, QueryKeyWeights
from tests.factories import dot_product_map, make_map, numbered

DICE = np.random.default_rng(5)
SEEN = DICE.random((7, 7)) < 0.6


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"visible": SEEN}, {"bias": DICE.normal(size=(6, 7, 7))}, {"softcap": 0.5}, {"sink": np.arange(6.0)},
     {"sink": np.arange(6.0), "causal": True},
     {"bias": DICE.normal(size=(1, 7, 7)), "causal": True}],
)  # fmt: skip
def test_rows_of_vectors_are_those_of_the_layer(options: dict[str, Any]) -> None:
    kind = "decoder" if options.get("causal") else "encoder"
    attention = dot_product_map(numbered(7), kind=kind, **options)
    for rows in (slice(0, 1), slice(2, 5), slice(6, 7), slice(0, 7)):
        np.testing.assert_allclose(row_weights(attention, 1, rows), attention.layer_weights(1)[:, rows], atol=1e-6)


def test_rows_of_edited_heads_are_as_they_were_used() -> None:
    attention = dot_product_map(numbered(7), kind="encoder")
    assert isinstance(attention.store, QueryKeyWeights)
    edited = replace(attention.store.layers[1], edited=EditedHeads((4,), np.eye(7)[None]))
    attention = replace(attention, store=QueryKeyWeights((attention.store.layers[0], edited)))
    np.testing.assert_array_equal(row_weights(attention, 1, slice(2, 4))[4], np.eye(7)[2:4])


def test_rows_of_weights_are_cut_out_and_a_layer_that_is_not_there_is_none() -> None:
    attention = make_map(numbered(5))
    np.testing.assert_array_equal(row_weights(attention, 1, slice(1, 3)), attention.layer_weights(1)[:, 1:3])
    with pytest.raises(TraceError, match="no layer 2"):
        row_weights(attention, 2, slice(0, 1))
