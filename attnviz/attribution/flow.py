"""Maximum flow through a stack of layers whose weights are the capacities (Abnar & Zuidema 2020, section 3)."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

# The solver counts in whole numbers: a weight of 1 is so many of them, and a flow is exact to one in as many.
UNIT = 10**7


def max_flow(
    steps: Sequence[tuple[slice, np.ndarray]], asking: Float[np.ndarray, " position"]
) -> Float[np.ndarray, " position"]:
    """Return, for each position at the bottom, the most that can flow to it from the top's positions that ask.

    `steps` has of each layer, lowest first, which positions it mixes and in which proportions; all others it passes on.

    >>> max_flow([(slice(0, 2), np.array([[0.5, 0.5], [0.0, 1.0]]))], np.array([1.0, 0.0]))
    array([0.5, 0.5])
    """
    n_positions, rows, columns, widths = len(asking), [], [], []
    for level, (queries, mixed) in enumerate(steps):
        whole = np.eye(n_positions)
        whole[queries] = mixed
        upper, lower = np.nonzero(whole)
        rows.append((level + 1) * n_positions + upper)
        columns.append(level * n_positions + lower)
        widths.append(whole[upper, lower])
    n_nodes = (len(steps) + 1) * n_positions
    asks = np.flatnonzero(asking)
    # One source above all positions that ask, each of which takes its part.
    rows.append(np.full(len(asks), n_nodes))
    columns.append(len(steps) * n_positions + asks)
    widths.append(asking[asks])
    capacities = np.rint(np.concatenate(widths) * UNIT).astype(np.int32)
    graph = coo_array((capacities, (np.concatenate(rows), np.concatenate(columns))), shape=(n_nodes + 1, n_nodes + 1)).tocsr()
    return np.array([maximum_flow(graph, n_nodes, position).flow_value / UNIT for position in range(n_positions)])
