"""Long vectors on a page: the largest numbers, and how many others there are; also times a learned matrix.

A model's vectors have more numbers than a projector has room for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.rounding import number_text
from attnviz.analysis.compute.steps import ComputationStep, Matrix, Vector, cell, dot
from attnviz.core.head_inputs import Projected

MOST_DIMS, MOST_KEYS = 6, 6
DOTS = "…"


@dataclass(frozen=True)
class Excerpt:
    """Some positions of a long axis, in their order; the others are counted."""

    kept: tuple[int, ...]
    length: int

    @staticmethod
    def of(sizes: Float[np.ndarray, " position"], most: int, always: Sequence[int] = ()) -> "Excerpt":
        """Keep the `most` largest, those of `always` among them; all, where there are no more than two too many."""
        order = [int(index) for index in np.argsort(-np.abs(sizes), kind="stable")]
        if len(order) <= most + 2:
            return Excerpt(tuple(range(len(order))), len(order))
        order = [*dict.fromkeys([*always, *order])]
        return Excerpt(tuple(sorted(order[:most])), len(order))

    @property
    def rest(self) -> tuple[int, ...]:
        return tuple(sorted(set(range(self.length)) - set(self.kept)))

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """List the names of the shown positions, and how many others there are."""
        more = f"{len(self.rest):,} more"
        return (*(names[index] for index in self.kept), *([more] if self.rest else []))

    def row(self, values: Float[np.ndarray, " position"]) -> Float[np.ndarray, "one column"]:
        """Keep the shown ones of some values, as a row; the others are left empty."""
        others = [np.nan] if self.rest else []
        return np.array([[*np.asarray(values, np.float64)[list(self.kept)], *others]])

    def texts(self, values: Float[np.ndarray, " position"]) -> tuple[str, ...]:
        """Write the shown values; one that has no number, as a sink has no dot product, stays empty."""
        texts = [number_text(float(values[index])) if np.isfinite(values[index]) else "" for index in self.kept]
        return (*texts, *([DOTS] if self.rest else []))

    def vector(self, matrix: Matrix, values: Float[np.ndarray, " position"]) -> Vector:
        """Hold all values, of which the first row of `matrix` shows some."""
        cells = {index: (matrix.shown[0][column], matrix.place(0, column)) for column, index in enumerate(self.kept)}
        return Vector(matrix.name, values, cells)


@dataclass(frozen=True)
class QueryKey:
    """Which weight is explained: positions of the query and the key, and what the tokens of the map are called."""

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    query: int
    key: int

    @property
    def query_token(self) -> str:
        return self.queries[self.query]

    @property
    def key_token(self) -> str:
        return self.keys[self.key]


def excerpt_row(
    name: str, row: str, values: Float[np.ndarray, " dim"], excerpt: Excerpt, names: Sequence[str] | None = None
) -> Matrix:
    """Show a long vector as a row of its largest numbers."""
    columns = excerpt.names(names or [str(index) for index in range(excerpt.length)])
    return Matrix(name, excerpt.row(values), (row,), columns, (excerpt.texts(values),), size=f"1 × {excerpt.length:,}")


def excerpt_matrix(
    name: str, values: Float[np.ndarray, "row column"], down: Excerpt, across: Excerpt, names: Sequence[str] | None = None
) -> tuple[Matrix, Callable[[int], Vector]]:
    """Show some rows and columns of a large matrix, and return the whole of each shown column; `names` are of the rows."""
    rows = [across.row(values[index])[0] for index in down.kept]
    texts = [across.texts(values[index]) for index in down.kept]
    columns = across.names([str(index) for index in range(across.length)])
    if down.rest:
        rows, texts = [*rows, np.full(len(columns), np.nan)], [*texts, (DOTS,) * len(columns)]
    matrix = Matrix(
        name, np.array(rows), down.names(names or [str(index) for index in range(down.length)]), columns, tuple(texts),
        size=f"{down.length:,} × {across.length:,}",
    )  # fmt: skip

    def column(at: int) -> Vector:
        cells = {index: (texts[row][at], matrix.place(row, at)) for row, index in enumerate(down.kept)}
        return Vector(name, values[:, across.kept[at]], cells)

    return matrix, column


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
