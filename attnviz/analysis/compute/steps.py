"""A computation as steps: labelled matrices, and for every cell the cells it came from with the sum written out.

Those of a worked example stand here, those of one weight of a real model in `dot_product.py`; a figure draws them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.wording import Part, Sentence, signed
from attnviz.core.head_inputs import Computed, Tables
from attnviz.core.trace import Token
from attnviz.core.weights import masked_softmax

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


# What no token gives.
BIASES = "positions and biases"


@dataclass(frozen=True, eq=False)
class PairShares:
    """Row a and column b have what token a gave the query times what token b gave the key.

    The last row and the last column are what biases and positions give. All of `values` sums to `score`.
    """

    tokens: tuple[Token, ...]
    values: Float[np.ndarray, "giver_of_query giver_of_key"]
    score: float

    @property
    def givers(self) -> tuple[str, ...]:
        """Name each row and column."""
        return (*(token.text for token in self.tokens), BIASES)

    def largest(self, most: int = 8) -> list["Pair"]:
        """Return the pairs that count most, for or against, the largest first."""
        order = np.argsort(-np.abs(self.values), axis=None, kind="stable")[:most]
        rows, columns = np.unravel_index(order, self.values.shape)
        return [Pair(int(row), int(column), float(self.values[row, column])) for row, column in zip(rows, columns, strict=True)]

    def sides(self) -> tuple[Float[np.ndarray, " giver"], Float[np.ndarray, " giver"]]:
        """Compute what each giver adds to the score by way of the query, and by way of the key; each sums to the score."""
        return self.values.sum(axis=1), self.values.sum(axis=0)


@dataclass(frozen=True)
class Pair:
    """One pair: places among `PairShares.givers`, and what it adds to the score."""

    query_giver: int
    key_giver: int
    share: float


def rest_of(shares: PairShares, pairs: Sequence[Pair]) -> float:
    """Compute what all other pairs add to the score."""
    return shares.score - sum(pair.share for pair in pairs)


def describe_pairs(shares: PairShares, name: str) -> Sentence:
    """Say which token contributes most by way of the query, and which by way of the key."""
    of_query, of_key = (int(np.argmax(side[:-1])) for side in shares.sides())
    most = max(shares.largest(most=shares.values.size), key=lambda pair: pair.share)
    givers = shares.givers
    return (
        Part(f"{name} scores {signed(shares.score, '+.2f')} here. Of all tokens "), _named(givers[of_query]),
        Part(" contributes most by way of the query, "), _named(givers[of_key]),
        Part(" by way of the key; the largest pair is "), _named(givers[most.query_giver]), Part(" × "),
        _named(givers[most.key_giver]), Part(f" ({signed(most.share, '+.2f')})."),
    )  # fmt: skip


def _named(giver: str) -> Part:
    return Part(giver, strong=True, quoted=giver != BIASES)


_PROJECTION_SENTENCES = {
    "Q": "Every row of X is multiplied by the same W_Q: a token's query is what it looks for.",
    "K": "Another matrix, another view of the same tokens: a token's key is what it can be found by.",
    "V": "A third matrix makes the values: what a token hands over to those who look at it.",
}


def worked_steps(tables: Tables, computed: Computed, head: int, columns: tuple[str, ...] = ()) -> tuple[ComputationStep, ...]:
    """List all steps, those between the scores and the context for one head; `columns` says what those of X stand for.

    Raises:
        IndexError: there is no such head.
    """
    x = _tokens("X", tables.x, tables)
    if len(columns) == len(x.columns):
        x = replace(x, columns=columns)
    projected = {
        name: _project(x, name, weights, values, tables)
        for name, weights, values in (
            ("Q", tables.w_q, computed.query),
            ("K", tables.w_k, computed.key),
            ("V", tables.w_v, computed.value),
        )
    }
    tokens_step = ComputationStep("X", "Tokens", "X", _token_sentence(tables), (x,))
    steps = [tokens_step, *projected.values(), *_one_head(tables, computed, head, {n: s.result for n, s in projected.items()})]
    if tables.n_heads > 1:
        steps.append(_concatenated(tables, computed))
    before = steps[-1].result
    steps.append(_output(replace(before, label="", blocks=tables.n_heads), tables, computed))
    return tuple(steps)


def _token_sentence(tables: Tables) -> str:
    numbers = "one number" if tables.x.shape[1] == 1 else f"{tables.x.shape[1]} numbers"
    return f"Each token is a row of {numbers}. In a model they are learned; here you can type them."


def _tokens(name: str, values: Float[np.ndarray, "token dim"], tables: Tables, blocks: int = 1) -> Matrix:
    return Matrix(name, values, tables.tokens, tuple(map(str, range(values.shape[1]))), blocks=blocks)


def _project(
    x: Matrix, name: str, weights: Float[np.ndarray, "dim dim"], values: Float[np.ndarray, "token dim"], tables: Tables
) -> ComputationStep:
    dims = tuple(map(str, range(len(weights))))
    table = Matrix(f"W_{name}", weights, x.columns, dims, blocks=tables.n_heads)
    result = _tokens(name, values, tables, tables.n_heads)
    titles = {"Q": "Queries", "K": "Keys", "V": "Values"}
    return ComputationStep(
        name,
        titles[name],
        f"{name} = X W_{name}",
        _PROJECTION_SENTENCES[name],
        (x, table, result),
        ("×", "="),
        multiplied(x, table, result),
    )


def _one_head(tables: Tables, computed: Computed, head: int, projected: dict[str, Matrix]) -> list[ComputationStep]:
    """List scores, their scale, the mask, softmax and context of one head."""
    columns = slice(head * tables.head_dim, (head + 1) * tables.head_dim)
    which = f"_{head}" if tables.n_heads > 1 else ""
    if tables.n_heads > 1:
        query, key, value = (projected[name].part(columns, f"{name}{which}") for name in "QKV")
    else:
        query, key, value = (projected[name] for name in "QKV")
    focus = _focus(computed.weights[head], tables.visible)
    steps = [_scores(query, key.flip(f"K{which}ᵀ"), computed.scores[head], which, focus)]
    if tables.scaled:
        steps.append(_scaled(steps[-1].result, computed.scaled[head], tables.head_dim, which, focus))
    if not tables.visible.all():
        steps.append(_masked(steps[-1].result, tables, which))
    steps.append(_softmax(steps[-1].result, tables, computed, head, which, focus))
    steps.append(_context(steps[-1].result, value, computed.context[head], which))
    return steps


def _scores(
    query: Matrix, key: Matrix, values: Float[np.ndarray, "token token"], which: str, focus: tuple[int, int]
) -> ComputationStep:
    result = Matrix(f"S{which}", values, query.rows, key.columns)
    return ComputationStep(
        "QKᵀ", "Scores", f"S{which} = {query.label or 'Q'} {key.label}",
        "Each query meets each key: multiply number by number and add up. The better they fit, the larger the score.",
        (query, key, result), ("×", "="), multiplied(query, key, result), focus,
    )  # fmt: skip


def _scaled(
    scores: Matrix, values: Float[np.ndarray, "token token"], dim: int, which: str, focus: tuple[int, int]
) -> ComputationStep:
    result = Matrix(f"S{which}′", values, scores.rows, scores.columns)
    root = float(np.sqrt(dim))

    def origin(row: int, column: int) -> Origin:
        before, after = cell(scores, row, column), cell(result, row, column)
        return Origin(
            (scores.place(row, column),), (before, Term(f" / √{dim} = "), before, Term(f" / {number_text(root)} = "), after)
        )

    return ComputationStep(
        "÷√d", "Scale", f"S{which}′ = S{which} / √d_k",
        f"A sum of {dim} products grows with their number; √{dim} = {number_text(root)} takes that back, so that softmax stays "
        "soft.",
        (scores, result), ("→",), each_cell(result, origin), focus,
    )  # fmt: skip


def _masked(scores: Matrix, tables: Tables, which: str) -> ComputationStep:
    texts = tuple(
        tuple(text if seen else NOTHING for text, seen in zip(row, see, strict=True))
        for row, see in zip(scores.shown, tables.visible, strict=True)
    )
    result = Matrix(f"M{which}", scores.values, scores.rows, scores.columns, texts, tables.visible)

    def origin(row: int, column: int) -> Origin:
        place, before = (scores.place(row, column),), cell(scores, row, column)
        if tables.visible[row, column]:
            return Origin(place, (Term("may be seen: "), before, Term(" stays")))
        return Origin(place, (Term("hidden: "), before, Term(f" → {NOTHING}, so that its weight will be exactly 0")))

    hidden = next(iter(np.argwhere(~tables.visible).tolist()))
    return ComputationStep(
        "mask", "Mask", f"M{which} = mask({scores.name})",
        f"What a query must not see gets {NOTHING} instead of a score: no later step can bring it back.",
        (scores, result), ("→",), each_cell(result, origin), (int(hidden[0]), int(hidden[1])),
    )  # fmt: skip


def _softmax(
    scores: Matrix, tables: Tables, computed: Computed, head: int, which: str, focus: tuple[int, int]
) -> ComputationStep:
    values = computed.weights[head]
    texts, totals = weight_rows(values)
    result = Matrix(f"A{which}", values, scores.rows, scores.columns, texts, tables.visible, totals=totals, weights=True)

    def origin(row: int, column: int) -> Origin:
        return softmax_origin(row_of(scores, row), tables.visible[row], column, cell(result, row, column))

    return ComputationStep(
        "softmax", "Weights", f"A{which} = softmax({scores.name})", _saturation(tables, computed, head, scores.name),
        (scores, result), ("→",), each_cell(result, origin), focus,
    )  # fmt: skip


def _saturation(tables: Tables, computed: Computed, head: int, name: str) -> str:
    """Say what softmax does, and what the division before it changed, or would have."""
    sentence = (
        f"{name} are the scores of the step before: e to the power of each, divided by the sum of its row, gives its weight."
    )
    scores = computed.scores[head].astype(np.float64)
    divided, undivided = (masked_softmax(scores * factor, tables.visible) for factor in (tables.head_dim**-0.5, 1.0))
    row, column = _largest_cell(np.abs(undivided - divided))
    here, there = (weight_rows(each[[row]])[0][0][column] for each in (divided, undivided))
    if here == there:
        return sentence
    link = f"{tables.tokens[row]} → {tables.tokens[column]}"
    if tables.scaled:
        return f"{sentence} Without the division by √d_k, {link} would be {there} instead of {here}."
    return f"{sentence} Without the division by √d_k, {link} is {there}; divided it would be {here}."


def _context(weights: Matrix, value: Matrix, values: Float[np.ndarray, "token dim"], which: str) -> ComputationStep:
    result = Matrix(f"C{which}", values, weights.rows, value.columns)
    return ComputationStep(
        "·V", "Context", f"C{which} = A{which} {value.label or 'V'}",
        "The values, mixed in the shares of the row: what the token takes home from those it looked at.",
        (weights, value, result), ("×", "="), multiplied(weights, value, result),
    )  # fmt: skip


def _concatenated(tables: Tables, computed: Computed) -> ComputationStep:
    width = tables.head_dim
    heads = [
        Matrix(f"C_{head}", computed.context[head], tables.tokens, tuple(map(str, range(head * width, (head + 1) * width))))
        for head in range(tables.n_heads)
    ]
    result = _tokens("C", computed.concatenated, tables, tables.n_heads)

    def origin(row: int, column: int) -> Origin:
        source = heads[column // width]
        text = cell(source, row, column % width)
        return Origin(
            (source.place(row, column % width),), (Term(f"column {column % width} of head {column // width}: "), text)
        )

    names = ", ".join(f"C_{head}" for head in range(tables.n_heads))
    return ComputationStep(
        "concat", "All heads", f"C = [{names}]",
        "The heads worked side by side, each with its own columns. Their contexts are put next to each other.",
        (*heads, result), (*("|",) * (tables.n_heads - 1), "="), each_cell(result, origin),
    )  # fmt: skip


def _output(concatenated: Matrix, tables: Tables, computed: Computed) -> ComputationStep:
    dims = tuple(map(str, range(tables.x.shape[1])))
    table = Matrix("W_O", tables.w_o, dims, dims)
    result = _tokens("Y", computed.output, tables)
    return ComputationStep(
        "W_O", "Output", f"Y = {concatenated.name} W_O",
        "One last matrix lets the heads speak to each other: the output has the shape of X again, ready for the next layer.",
        (concatenated, table, result), ("×", "="), multiplied(concatenated, table, result),
    )  # fmt: skip


def _focus(weights: Float[np.ndarray, "token token"], visible: np.ndarray) -> tuple[int, int]:
    """Find the largest weight of a query that has a choice."""
    choices = visible.sum(axis=1)
    return _largest_cell(weights * (choices > 1)[:, None] if choices.max() > 1 else weights)


def _largest_cell(values: Float[np.ndarray, "row column"]) -> tuple[int, int]:
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return int(row), int(column)
