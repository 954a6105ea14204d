"""A long vector times a learned matrix, as on a page: of both, the numbers that decide what is shown of the result."""

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.compute.long_vectors import Excerpt, excerpt_matrix, excerpt_row
from attnviz.analysis.compute.steps import ComputationStep, Matrix, cell, dot
from attnviz.core.head_inputs import Projected

# So many of a token's numbers are written out, each beside its row of the matrix.
MOST_ROWS = 4


@dataclass(frozen=True)
class Caption:
    """What a step is called: its symbol, its title, its formula, and one or two sentences."""

    symbol: str
    title: str
    formula: str
    sentence: str


def project(
    made: Projected, at: int, names: tuple[str, str], result: Matrix, units: Excerpt, caption: Caption
) -> ComputationStep:
    """Show x W + b for the token at position `at`: `names` are those of x and W, `units` the numbers that `result` shows."""
    states, weight = made.states[at].astype(np.float64), made.weight.astype(np.float64)
    excerpt = Excerpt.of(np.abs(states * weight[list(units.kept)]).sum(axis=0), MOST_ROWS)
    left = excerpt_row(names[0], result.rows[0], states, excerpt)
    table, down = excerpt_matrix(names[1], weight.T, excerpt, units)
    across = excerpt.vector(left, states)
    origins = {
        (0, column): dot(across, down(column), cell(result, 0, column), also=float(made.bias[unit]))
        for column, unit in enumerate(units.kept)
    }
    return ComputationStep(
        caption.symbol, caption.title, caption.formula, caption.sentence, (left, table, result), ("×", "="), origins
    )
