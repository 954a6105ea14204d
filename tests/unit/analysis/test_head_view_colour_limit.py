"""Where the colours of a long text end, against sorting."""

import numpy as np
import pytest

from attnviz.analysis.head_view import colour_limit, head_matrix
from attnviz.core.trace import AttentionMap, DenseWeights
from tests.factories import numbered


def matrix_of(weights: np.ndarray):
    n_queries, n_keys = weights.shape
    tokens = numbered(max(n_queries, n_keys))
    kind = "encoder" if n_queries == n_keys else "cross"
    store = DenseWeights((weights[None].astype(np.float32),))
    return head_matrix(AttentionMap(kind, tokens[:n_queries], tokens[:n_keys], store), layer=0, head=0)


@pytest.mark.parametrize("shape", [(3, 127), (127, 127), (3, 128), (128, 3), (150, 131)])
def test_a_long_text_has_the_99th_percentile_as_its_limit_and_a_short_one_none(shape: tuple[int, int]) -> None:
    weights = np.random.default_rng(1).dirichlet(np.full(shape[1], 0.1), shape[0])
    actual = colour_limit(matrix_of(weights))
    if max(shape) < 128:
        assert actual is None
        return
    ranked = np.sort(weights.astype(np.float32).ravel())
    below = next(value for at, value in enumerate(ranked, 1) if at >= 0.99 * ranked.size)
    assert actual == pytest.approx(max(float(below), 5 / shape[1]))


def test_masked_cells_have_no_say() -> None:
    weights = np.tril(np.ones((200, 200)))
    weights /= weights.sum(axis=1, keepdims=True)
    tokens = numbered(200)
    causal = AttentionMap("decoder", tokens, tokens, DenseWeights((weights[None].astype(np.float32),)), causal=True)
    ranked = np.sort(weights.astype(np.float32)[np.tri(200, dtype=bool)])
    assert colour_limit(head_matrix(causal, layer=0, head=0)) == pytest.approx(
        float(ranked[int(np.ceil(0.99 * ranked.size)) - 1])
    )
