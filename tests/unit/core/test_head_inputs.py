"""The tables of a worked example: every size that fits, and one sentence for any other."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.core.errors import TraceError
from attnviz.core.head_inputs import LARGEST, MOST_DIM, MOST_TOKENS, Projected, Tables


def tables(n_tokens: int, dim: int, n_heads: int) -> Tables:
    matrix = np.ones((dim, dim))
    tokens, visible = ("a",) * n_tokens, np.ones((n_tokens, n_tokens), bool)
    return Tables(tokens, np.ones((n_tokens, dim)), matrix, matrix, matrix, matrix, visible, n_heads)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (MOST_TOKENS, MOST_DIM, 1), (2, 6, 3), (3, MOST_DIM, MOST_DIM)])
def test_what_fits_is_taken(sizes: tuple[int, int, int]) -> None:
    assert tables(*sizes).head_dim == sizes[1] // sizes[2]


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ((0, 2, 1), "1 to 8 tokens"),
        ((MOST_TOKENS + 1, 2, 1), "1 to 8 tokens"),
        ((2, 0, 1), "cannot share 0"),
        ((2, MOST_DIM + 1, 1), f"cannot share {MOST_DIM + 1}"),
        ((2, 6, 0), "0 heads cannot share"),
        ((2, 6, -1), "-1 heads cannot share"),
        ((2, 6, 4), "4 heads cannot share 6"),
        ((2, 6, 12), "12 heads cannot share 6"),
    ],
)
def test_what_does_not_fit_is_refused(sizes: tuple[int, int, int], says: str) -> None:
    with pytest.raises(TraceError, match=says):
        tables(*sizes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"w_q": np.ones((2, 4))}, r"W_Q has the shape \(2, 4\), and X asks for \(4, 4\)"),
        ({"w_k": np.ones((5, 4))}, r"W_K has the shape \(5, 4\), and X asks for \(4, 4\)"),
        ({"w_o": np.full((4, 4), np.nan)}, "W_O holds an empty cell"),
        ({"x": np.full((3, 4), np.inf)}, "X holds an empty cell"),
        ({"w_v": np.full((4, 4), -LARGEST - 0.5)}, "beyond ±99"),
        ({"visible": np.ones((3, 2), bool)}, r"The mask has the shape \(3, 2\), and X asks for \(3, 3\)"),
        ({"tokens": ("a", "b")}, "1 to 8 tokens"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(changes: dict, says: str, unchecked: None) -> None:
    with pytest.raises(TraceError, match=says):
        replace(tables(3, 4, 2), **changes)


def test_tables_are_kept_as_numbers_that_nobody_changes() -> None:
    kept = replace(tables(3, 4, 2), w_k=np.full((4, 4), LARGEST))
    for array in (kept.x, kept.w_q, kept.w_k, kept.w_v, kept.w_o, kept.visible):
        assert array.dtype in (np.float64, bool)
        assert not array.flags.writeable
    assert (kept.w_k == LARGEST).all()
    assert kept.scaled


def test_vectors_are_states_times_a_matrix_and_a_bias() -> None:
    states, weight, bias = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3), np.arange(4.0)
    want = [[sum(state[i] * weight[j, i] for i in range(3)) + bias[j] for j in range(4)] for state in states]
    np.testing.assert_array_equal(Projected(states, weight, bias).vectors, want)
