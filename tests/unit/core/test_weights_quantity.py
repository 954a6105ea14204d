"""Weights that a model gives as a band around each query, laid over all keys."""

import numpy as np
import pytest

from attnviz.core.weights import spread_window


@pytest.mark.parametrize("width", [5, 7])
def test_a_band_lies_where_a_plain_loop_lays_it(width: int) -> None:
    band = np.random.default_rng(3).random((2, 6, width)).astype(np.float32)
    (spread, fewer), seen = spread_window([band, band[:1]], 6)
    np.testing.assert_array_equal(fewer, spread[:1])
    want, inside = np.zeros((2, 6, 6), np.float32), np.zeros((6, 6), bool)
    for query in range(6):
        for column in range(width):
            key = query + column - width // 2
            if key in range(6):
                want[:, query, key], inside[query, key] = band[:, query, column], True
    np.testing.assert_array_equal(spread, want)
    np.testing.assert_array_equal(seen, inside)


@pytest.mark.parametrize("shape", [(2, 5, 5), (2, 5, 4), (2, 5, 6), (2, 3, 7), (2, 7, 3), (2, 5, 2)])
def test_what_is_no_band_stays_as_it_is(shape: tuple[int, int, int]) -> None:
    weights = np.random.default_rng(3).random(shape).astype(np.float32)
    (same,), seen = spread_window([weights], 5)
    assert same is weights
    assert seen is None
