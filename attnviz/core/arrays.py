"""Arrays of attention weights: their axes, what their rows must be, and a way to keep anyone from writing to them."""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.errors import TraceError

Weights = Float[np.ndarray, "query key"]
Entropy = Float[np.ndarray, " query"]
LayerWeights = Float[np.ndarray, "head query key"]
# float32 softmax rows are exact to about 1e-6; eager models that cast it to half precision and back are not.
ROW_SUM_TOLERANCE = 1e-4


def frozen(array: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """View `array` read-only: no copy where the dtype already fits."""
    view = np.asarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def address(array: np.ndarray) -> tuple[int, int]:
    """Which memory an array is a view of."""
    return array.__array_interface__["data"][0], array.nbytes


@lru_cache(maxsize=4)
def causal_triangle(n_queries: int, n_keys: int) -> Bool[np.ndarray, "query key"]:
    """Mark where a query may look at a key that is no later. With a cache, the last query is the last key."""
    triangle = np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool)
    triangle.flags.writeable = False
    return triangle


def check_rows(weights: LayerWeights, layer: int) -> None:
    """Check that each row sums to 1, or to 0.

    Raises:
        TraceError: one does not, or a weight is negative or not finite.
    """
    if not np.isfinite(weights).all():
        raise TraceError(f"layer {layer} has attention weights that are not finite")
    if weights.size and weights.min() < 0:
        raise TraceError(f"layer {layer} has negative attention weights")
    sums = weights.sum(axis=-1)
    wrong = (np.abs(sums - 1) > ROW_SUM_TOLERANCE) & (sums != 0)
    if wrong.any():
        head, query = np.argwhere(wrong)[0]
        raise TraceError(
            f"the row of query {query} in layer {layer} head {head} sums to {sums[head, query]:.4f} instead of 1; "
            "give weights after the softmax, one row a query"
        )
