"""A long vector times a learned matrix, as on a page: of both, the numbers that decide what is shown of the result."""

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.compute.long_vectors import Few, grid, strip
from attnviz.analysis.compute.steps import Matrix, Step, cell, dot
from attnviz.core.head_inputs import Projected

# So many of a token's numbers are written out, each beside its row of the matrix.
MOST_ROWS = 4


@dataclass(frozen=True)
class Words:
    """What a step is called: its symbol, its title, its formula, and one or two sentences."""

    symbol: str
    title: str
    formula: str
    sentence: str


def project(made: Projected, at: int, names: tuple[str, str], result: Matrix, units: Few, words: Words) -> Step:
    """x W + b for the token at position `at`: `names` are those of x and W, `units` the numbers that `result` shows."""
    states, weight = made.states[at].astype(np.float64), made.weight.astype(np.float64)
    few = Few.of(np.abs(states * weight[list(units.kept)]).sum(axis=0), MOST_ROWS)
    left = strip(names[0], result.rows[0], states, few)
    table, down = grid(names[1], weight.T, few, units)
    across = few.vector(left, states)
    origins = {
        (0, column): dot(across, down(column), cell(result, 0, column), also=float(made.bias[unit]))
        for column, unit in enumerate(units.kept)
    }
    return Step(words.symbol, words.title, words.formula, words.sentence, (left, table, result), ("×", "="), origins)
