"""A computation as steps: labelled matrices, and for every cell the cells it came from with the sum written out.

The steps of a worked example (`worked_example.py`) and of one weight of a real model (`dot_product.py`) are made of these; a
figure draws them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

DECIMALS = 2
MINUS = "−"


def number_text(value: float) -> str:
    """Write a number as it stands on the page; never minus zero.

    >>> number_text(-0.314), number_text(-0.001)
    ('−0.31', '0.00')
    """
    return spelled(units(value))


def units(value: float) -> int:
    """Count a number in units of its last shown digit.

    >>> units(3.104)
    310
    """
    return round(float(value) * 10**DECIMALS)


def spelled(count: int) -> str:
    """Write a count of units of the last digit as a number.

    >>> spelled(-310)
    '−3.10'
    """
    return f"{count / 10**DECIMALS:.{DECIMALS}f}".replace("-", MINUS)


def largest_remainder(
    values: Sequence[float] | np.ndarray, *, total: float | None = None, keep: int | None = None
) -> tuple[int, ...]:
    """Round values so that they add up to their rounded sum, in units of the last digit: Hamilton's method of apportionment.

    Each is rounded down, and those that lost most get the units that are missing. A zero stays a zero. `total` is the sum as
    it is shown; `keep` is a value that is rounded as if it stood alone, so that it reads the same as in another picture.

    >>> largest_remainder([1 / 3, 1 / 3, 1 / 3])
    (34, 33, 33)
    """
    exact = np.asarray(values, dtype=np.float64) * 10**DECIMALS
    counts = np.floor(exact).astype(int)
    lost = exact - counts
    missing = units(float(np.sum(values)) if total is None else total) - int(counts.sum())
    order = [int(index) for index in np.argsort(-lost, kind="stable") if exact[index]]
    if keep is not None and keep in order and len(order) > 1:
        order.remove(keep)
        missing -= round(float(exact[keep])) - int(counts[keep])
        counts[keep] = round(float(exact[keep]))
    # Beyond one unit each only where the sum given is not that of the values.
    for turn in range(abs(missing) if order else 0):
        step = 1 if missing > 0 else -1
        counts[order[(turn if step > 0 else -1 - turn) % len(order)]] += step
    return tuple(int(count) for count in counts)


# Longer sums show their largest terms, and the others as one.
MOST_TERMS = 6
# From here on e^x is a number that nobody reads: the largest exponent is taken off all of them, which changes no weight.
LARGEST_EXPONENT = 7.0
NOTHING = f"{MINUS}∞"

Place = tuple[str, int, int]


@dataclass(frozen=True)
class Term:
    """A piece of a written-out sum; `of` names the matrix in which its number stands."""

    text: str
    of: str = ""


@dataclass(frozen=True)
class Origin:
    """The cells that a cell came from, as (matrix, row, column), and how: "0.31·1.20 + … = 3.10"."""

    cells: tuple[Place, ...]
    sum: tuple[Term, ...]

    @property
    def text(self) -> str:
        return "".join(term.text for term in self.sum)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix as it stands on the page.

    name     tells matrices apart; `label` is written over it, `name` where there is none
    shown    the text of each cell; rows of weights are rounded to add up
    totals   the shown sum of each row, where rows add up to something
    first    the (row, column) in the named matrix of the first cell, where only a part is shown
    flipped  rows and columns stand the other way round than in the named matrix
    size     the true shape, where only a part of the matrix is shown
    blocks   how many heads share its columns
    weights  its cells are shares from 0 to 1
    """

    name: str
    values: Float[np.ndarray, "row column"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shown: tuple[tuple[str, ...], ...] = ()
    visible: Bool[np.ndarray, "row column"] | None = None
    label: str = ""
    totals: tuple[str, ...] = ()
    first: tuple[int, int] = (0, 0)
    flipped: bool = False
    size: str = ""
    blocks: int = 1
    weights: bool = False

    def __post_init__(self) -> None:
        if not self.shown:
            object.__setattr__(self, "shown", tuple(tuple(map(number_text, row)) for row in self.values.tolist()))

    def place(self, row: int, column: int) -> Place:
        """Find the place of a shown cell in the named matrix."""
        row, column = (column, row) if self.flipped else (row, column)
        return self.name, row + self.first[0], column + self.first[1]

    def flip(self, label: str) -> "Matrix":
        """Transpose the matrix: rows for columns."""
        turned = tuple(zip(*self.shown, strict=True))
        return Matrix(self.name, self.values.T, self.columns, self.rows, turned, label=label, first=self.first, flipped=True)

    def part(self, columns: slice, label: str) -> "Matrix":
        """Take some neighbouring columns, such as those of one head."""
        kept = tuple(row[columns] for row in self.shown)
        first = (self.first[0], self.first[1] + columns.start)
        return Matrix(self.name, self.values[:, columns], self.rows, self.columns[columns], kept, label=label, first=first)

    @property
    def shape(self) -> str:
        return self.size or f"{len(self.rows)} × {len(self.columns)}"


@dataclass(frozen=True, eq=False)
class ComputationStep:
    """One idea: operands and a result with signs between them, and where each cell of the result came from.

    symbol    a few characters for the way through the steps
    matrices  the last is the result
    signs     one fewer than there are matrices
    start     the cell of the result that is looked at first
    """

    symbol: str
    title: str
    formula: str
    sentence: str
    matrices: tuple[Matrix, ...]
    signs: tuple[str, ...] = ()
    origins: dict[tuple[int, int], Origin] = field(default_factory=dict)
    start: tuple[int, int] = (0, 0)

    @property
    def result(self) -> Matrix:
        return self.matrices[-1]


def first_place(
    steps: Sequence[ComputationStep], symbol: str = "", cell: tuple[int, int] | None = None
) -> tuple[int, int, int]:
    """Choose the step, the row and the column to open with: the step of a symbol, else the first; its cell, where it has it."""
    at = next((index for index, each in enumerate(steps) if each.symbol == symbol), 0)
    rows, columns = len(steps[at].result.rows), len(steps[at].result.columns)
    inside = cell is not None and cell[0] < rows and cell[1] < columns
    return (at, *(cell if cell is not None and inside else steps[at].start))


@dataclass(frozen=True, eq=False)
class Vector:
    """The numbers of a row or a column; of those that stand on the page, `known` has the text and the place."""

    name: str
    values: Float[np.ndarray, " dim"]
    known: dict[int, tuple[str, Place]] = field(default_factory=dict)

    def text(self, index: int) -> str:
        return self.known[index][0] if index in self.known else number_text(float(self.values[index]))

    def places(self, indices: Iterable[int] | None = None) -> tuple[Place, ...]:
        """List the places of these numbers, or of all; of numbers that are not on the page, none."""
        return tuple(self.known[index][1] for index in (self.known if indices is None else indices) if index in self.known)


def row_of(matrix: Matrix, row: int) -> Vector:
    cells = {column: (text, matrix.place(row, column)) for column, text in enumerate(matrix.shown[row])}
    return Vector(matrix.name, matrix.values[row], cells)


def column_of(matrix: Matrix, column: int) -> Vector:
    cells = {row: (texts[column], matrix.place(row, column)) for row, texts in enumerate(matrix.shown)}
    return Vector(matrix.name, matrix.values[:, column], cells)


def each_cell(matrix: Matrix, origin: Callable[[int, int], Origin]) -> dict[tuple[int, int], Origin]:
    """Make the origin of every cell of a matrix."""
    return {(row, column): origin(row, column) for row in range(len(matrix.rows)) for column in range(len(matrix.columns))}


def multiplied(left: Matrix, right: Matrix, result: Matrix) -> dict[tuple[int, int], Origin]:
    """Trace each cell of a matrix product to its row and its column."""
    return each_cell(result, lambda row, column: dot(row_of(left, row), column_of(right, column), cell(result, row, column)))


def cell(matrix: Matrix, row: int, column: int) -> Term:
    """Quote a number as it stands in its matrix."""
    return Term(matrix.shown[row][column], matrix.name)


def dot(left: Vector, right: Vector, result: Term, *, also: float = 0.0) -> Origin:
    """Write out Σ a_k b_k: the factors, then the products, which add up to the result as shown; `also` is added, as a bias.

    Where only some of the factors stand on the page, it is these that are written out.
    """
    products = np.asarray(left.values, np.float64) * np.asarray(right.values, np.float64)
    kept, rest = _largest(products, sorted(left.known.keys() & right.known.keys()))
    extra = [float(products[rest].sum())] * bool(rest) + [also] * bool(also)
    counts = largest_remainder([*products[kept], *extra], total=float(result.text.replace(MINUS, "-")))
    terms: list[Term] = []
    for index in kept:
        factors = (
            Term(_in_brackets(left.text(index)), left.name),
            Term("·"),
            Term(_in_brackets(right.text(index)), right.name),
        )
        terms += [*([Term(" + ")] if terms else []), *factors]
    terms += [Term(f" + {name}") for name in [f"({len(rest):,} more)"] * bool(rest) + ["b"] * bool(also)]
    terms += [Term(f" = {summed(counts)}")] if len(counts) > 1 else []
    return Origin((*left.places(), *right.places()), (*terms, Term(" = "), result))


def _largest(terms: Float[np.ndarray, " term"], among: Sequence[int], always: int | None = None) -> tuple[list[int], list[int]]:
    """Split the terms into those that are written out, in their order, and the others; all are `among`, if there are such."""
    order = [int(index) for index in np.argsort(-np.abs(terms), kind="stable")]
    if len(order) <= MOST_TERMS:
        return sorted(order), []
    first = [] if always is None else [always]
    order = list(dict.fromkeys([*first, *(index for index in order if index in among), *order]))
    most = min(MOST_TERMS - 1, len(among) or MOST_TERMS)
    return sorted(order[:most]), order[most:]


def _in_brackets(text: str) -> str:
    """Write a factor; a negative one in brackets."""
    return f"({text})" if text.startswith(MINUS) else text


def summed(counts: Sequence[int]) -> str:
    """Write rounded terms as a sum.

    >>> summed((37, -110, 273))
    '0.37 − 1.10 + 2.73'
    """
    texts = [spelled(counts[0])]
    texts += [f"{f' {MINUS} ' if count < 0 else ' + '}{spelled(abs(count))}" for count in counts[1:]]
    return "".join(texts)


def softmax_origin(scores: Vector, visible: Bool[np.ndarray, " dim"] | None, at: int, result: Term) -> Origin:
    """Write out e^{s_j} / Σ_k e^{s_k} over the keys that can be seen, for the key at position `at`."""
    values = scores.values.astype(np.float64)
    seen = np.arange(len(values)) if visible is None else np.flatnonzero(visible)
    if at not in seen:
        return Origin(scores.places([at]), (Term(f"e^{{{NOTHING}}} = "), result))
    places = scores.places(seen.tolist())
    if len(seen) == 1:
        return Origin(places, (Term("the only key that can be seen: "), result))
    shift = float(values[seen].max()) if np.abs(values[seen]).max() > LARGEST_EXPONENT else 0.0
    energy = np.exp(values[seen] - shift)
    here = int(np.flatnonzero(seen == at)[0])
    known = [index for index, key in enumerate(seen.tolist()) if key in scores.known]
    kept, rest = _largest(energy, known, here)
    counts = largest_remainder([*energy[kept], *[energy[rest].sum()] * bool(rest)], keep=kept.index(here))
    less = f" {MINUS} {number_text(shift)}" if shift > 0 else f" + {number_text(-shift)}" if shift else ""
    powers = {index: Term(f"e^{{{scores.text(int(seen[index]))}{less}}}", scores.name) for index in kept}
    below = [term for index in kept for term in (Term(" + "), powers[index])][1:]
    below += [Term(f" + ({len(rest):,} more)")] * bool(rest)
    top = spelled(counts[kept.index(here)])
    numbers = f") = {top} / ({summed(counts)}) = {top} / {spelled(sum(counts))} = "
    return Origin(places, (powers[here], Term(" / ("), *below, Term(numbers), result))


def weight_rows(
    weights: Float[np.ndarray, "row column"], keep: int | None = None
) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Write rows of weights, rounded so that each adds up to its sum, and those sums."""
    rows, totals = [], []
    for row in weights:
        total = float(np.sum(row, dtype=np.float64))
        rows.append(tuple(spelled(count) for count in largest_remainder(row, keep=keep)))
        totals.append(spelled(units(total)))
    return tuple(rows), tuple(totals)
