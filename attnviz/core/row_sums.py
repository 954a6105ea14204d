"""What the rows of attention weights must sum to."""

import numpy as np
from jaxtyping import Float

from attnviz.core.errors import TraceError

# float32 softmax rows are exact to about 1e-6; eager models that cast it to half precision and back are not.
ROW_SUM_TOLERANCE = 1e-4


def check_rows(weights: Float[np.ndarray, "head query key"], layer: int) -> None:
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
