"""What the rows of attention weights must sum to, by the type of number that they were computed in."""

from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.core.errors import TraceError

# float32 softmax rows are exact to about 1e-6; some models sum what they scale again.
ROW_SUM_TOLERANCE = 1e-4
# The largest relative error of rounding to the nearest number of a type: 2^-p of p bits of precision.
_ROUNDING = {"bfloat16": 2**-8, "float16": 2**-11, "float8_e4m3fn": 2**-4, "float8_e5m2": 2**-3}


def rounding_of(dtype: Any) -> float:
    """Return the relative error with which a type of torch, NumPy or JAX stores a number; 0 for float32 and better.

    >>> rounding_of(np.dtype("float16")) == 2**-11, rounding_of(np.dtype("float32"))
    (True, 0.0)
    """
    return _ROUNDING.get(str(dtype).rpartition(".")[2], 0.0)


def check_rows(weights: Float[np.ndarray, "head query key"], layer: int, rounding: float = 0.0) -> None:
    """Check that each row sums to 1, or to 0. Weights that were rounded sum to 1 with the relative error of each.

    Raises:
        TraceError: one does not, or a weight is negative or not finite.
    """
    if not np.isfinite(weights).all():
        raise TraceError(f"layer {layer} has attention weights that are not finite")
    if weights.size and weights.min() < 0:
        raise TraceError(f"layer {layer} has negative attention weights")
    sums = weights.sum(axis=-1)
    wrong = (np.abs(sums - 1) > ROW_SUM_TOLERANCE + rounding) & (sums != 0)
    if wrong.any():
        head, query = np.argwhere(wrong)[0]
        raise TraceError(
            f"the row of query {query} in layer {layer} head {head} sums to {sums[head, query]:.4f} instead of 1; "
            "give weights after the softmax, one row a query"
        )


def renormalize(
    weights: Float[np.ndarray, "head query key"], layer: int, rounding: float
) -> Float[np.ndarray, "head query key"]:
    """Let rows that were rounded to fewer bits sum to 1 again, in float32; those of float32 stay as they are.

    Raises:
        TraceError: a row is farther from 1 than rounding explains.
    """
    if not rounding:
        return weights
    check_rows(weights, layer, rounding)
    sums = weights.sum(axis=-1, keepdims=True, dtype=np.float64)
    return (weights / np.where(sums, sums, 1)).astype(np.float32)
