"""The tables of a worked example: every size that fits, and one sentence for any other."""

import numpy as np
import pytest

from attnviz.core.errors import TraceError
from attnviz.core.head_inputs import MOST_DIM, MOST_TOKENS, Tables


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
