"""A worked example step by step: X, Q, K, V, the scores of one head, its weights and context, then all heads together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.steps import (
    NOTHING,
    ComputationStep,
    Matrix,
    Origin,
    Term,
    cell,
    each_cell,
    multiplied,
    number_text,
    row_of,
    softmax_origin,
    weight_rows,
)
from attnviz.analysis.wording import Part, Sentence, signed
from attnviz.core.head_inputs import Computed, Tables
from attnviz.core.trace import Token
from attnviz.core.weights import masked_softmax

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
    row, column = _largest(np.abs(undivided - divided))
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
    return _largest(weights * (choices > 1)[:, None] if choices.max() > 1 else weights)


def _largest(values: Float[np.ndarray, "row column"]) -> tuple[int, int]:
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return int(row), int(column)
