"""The explorer's bytes, read back as its script reads them."""

import zlib

import numpy as np
import pytest

from attnviz.analysis.head_view import head_matrix
from attnviz.figures.explorer.overview import (
    MASKED,
    THUMB_MASKED,
    THUMB_PIXELS,
    decimals_of,
    head_chunk,
    pack_chunks,
    thumb_of,
    unpack_chunks,
)
from tests.factories import HOSTILE, given_map, make_map, numbered


def read_head(chunk: bytes, shape: tuple[int, int]) -> tuple[np.ndarray, int]:
    """The codes of a head and the number of their decimals."""
    low, high = np.frombuffer(zlib.decompress(chunk[1:]), np.uint8).reshape(2, *shape).astype(int)
    return low + 256 * high, chunk[0]


def only(weights: np.ndarray):
    return head_matrix(given_map(weights, numbered(len(weights))), layer=0, head=0)


@pytest.mark.parametrize(("n_queries", "n_keys"), [(7, 7), (5, 11), (13, 3)])
def test_a_code_has_the_weights_own_digits(n_queries, n_keys):
    attention = make_map(numbered(n_queries), numbered(n_keys))
    for layer, head in np.ndindex(2, 3):
        weights = attention.weights(layer, head)
        codes, decimals = read_head(head_chunk(head_matrix(attention, layer=layer, head=head)), weights.shape)
        for query, key in np.ndindex(*weights.shape):
            assert codes[query, key] / 10**decimals == float(f"{weights[query, key]:.{decimals}f}")
        # What the drawing makes of it, 256 levels, is the weight to half a level.
        assert np.abs(np.rint(codes / 10**decimals * 255) / 255 - weights).max() <= 1 / 510 + 5e-5


@pytest.mark.parametrize(("highest", "decimals"), [(1.0, 4), (0.11, 4), (0.09, 5), (0.009, 6), (1e-9, 8), (0.0, 4)])
def test_weak_heads_keep_four_digits(highest, decimals):
    weights = np.zeros((3, 100))
    weights[:, 1] = highest
    matrix = head_matrix(make_map(numbered(3), numbered(100)), layer=0, head=0)
    object.__setattr__(matrix, "weights", weights.astype(np.float32))
    assert decimals_of(matrix) == decimals
    codes, _ = read_head(head_chunk(matrix), weights.shape)
    assert codes[2, 1] == round(highest * 10**decimals)
    assert codes.max() <= 10_000


def test_masked_cells_are_not_zeros():
    matrix = head_matrix(make_map(numbered(5), causal=True), layer=1, head=2)
    codes, _ = read_head(head_chunk(matrix), (5, 5))
    np.testing.assert_array_equal(codes == MASKED, ~np.tri(5, dtype=bool))
    thumb, _ = thumb_of(matrix)
    np.testing.assert_array_equal(thumb == THUMB_MASKED, ~np.tri(5, dtype=bool))
    clear, _ = read_head(head_chunk(only(np.eye(3))), (3, 3))
    np.testing.assert_array_equal(clear, 10_000 * np.eye(3))


def test_a_pixel_is_masked_only_where_all_its_cells_are():
    thumb, _ = thumb_of(head_matrix(make_map(numbered(300), layers=1, heads=1, causal=True), layer=0, head=0))
    starts = [int(index * 300 / THUMB_PIXELS) for index in range(THUMB_PIXELS)]
    ends = [*starts[1:], 300]
    for row, column in np.ndindex(*thumb.shape):
        assert (thumb[row, column] == THUMB_MASKED) == (starts[column] > ends[row] - 1)


def test_every_pooled_pixel_is_the_largest_of_its_cells():
    weights = make_map(numbered(67), numbered(131), layers=1, heads=1).weights(0, 0)
    thumb, highest = thumb_of(head_matrix(make_map(numbered(67), numbered(131), layers=1, heads=1), layer=0, head=0))
    assert highest == weights.max()
    rows = [int(index * 67 / 64) for index in range(64)] + [67]
    columns = [int(index * 131 / 64) for index in range(64)] + [131]
    for row, column in np.ndindex(64, 64):
        largest = weights[rows[row] : rows[row + 1], columns[column] : columns[column + 1]].max()
        assert thumb[row, column] == np.rint(largest / highest * 254)


def test_a_package_holds_any_text():
    header, chunks = unpack_chunks(pack_chunks({"tokens": [*HOSTILE, "\u2028"]}, {"a": b"", "b": bytes(range(256))}))
    assert header["tokens"] == [*HOSTILE, "\u2028"]
    assert chunks == {"a": b"", "b": bytes(range(256))}
