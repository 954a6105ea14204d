"""The package of a difference: numbers on both sides of 0, the furthest of them in every small picture."""

import zlib

import numpy as np
import pytest

from attnviz.analysis.head_view import difference, head_matrix
from attnviz.core.trace import AttentionMap, DenseWeights
from attnviz.figures.explorer import overview
from attnviz.figures.explorer.overview import THUMB_MASKED, thumb_of, unpack_chunks
from tests.factories import make_map, numbered


def changed(n_tokens: int) -> tuple[AttentionMap, AttentionMap, AttentionMap]:
    before = make_map(numbered(n_tokens))
    weights = tuple(np.roll(before.layer_weights(layer), 1, axis=2) for layer in range(before.n_layers))
    after = AttentionMap("encoder", before.queries, before.keys, DenseWeights(weights))
    actual = difference(before, after)
    assert actual is not None
    return before, after, actual


def test_every_head_has_its_change_to_four_digits():
    before, after, actual = changed(7)
    header, chunks = unpack_chunks(overview(actual).data)
    assert header["signed"]
    for layer, head in np.ndindex(2, 3):
        chunk = chunks[f"{layer}:{head}"]
        codes = np.frombuffer(zlib.decompress(chunk[1:]), np.uint8).reshape(2, 7, 7).astype(int)
        read = (codes[0] + 256 * codes[1]) / 10 ** chunk[0] - 1
        expected = after.weights(layer, head) - before.weights(layer, head)
        np.testing.assert_allclose(read, expected, atol=5.1e-5)
        query, key, weight = header["notes"][3 * layer + head]["link"]
        assert weight == pytest.approx(float(expected[query, key]), abs=6e-5)
        assert abs(weight) == pytest.approx(float(np.abs(expected).max()), abs=6e-5)


def test_a_small_picture_keeps_the_furthest_from_0_and_its_sign():
    _, _, actual = changed(131)
    matrix = head_matrix(actual, layer=1, head=2)
    thumb, highest = thumb_of(matrix, signed=True)
    read = (thumb / (THUMB_MASKED - 1) * 2 - 1) * highest
    assert highest == pytest.approx(float(np.abs(matrix.weights).max()))
    assert (read.max(), read.min()) == pytest.approx((matrix.weights.max(), matrix.weights.min()), abs=highest / 250)


def test_maps_over_other_tokens_have_no_difference():
    assert difference(make_map(numbered(3)), make_map(numbered(5))) is None


def test_attention_itself_is_not_signed():
    header, _ = unpack_chunks(overview(make_map(numbered(3))).data)
    assert not header["signed"]
