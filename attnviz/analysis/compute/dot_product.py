"""One weight of a real model, scaled or additive, step by step: from its vectors to the number in the heatmap.

A model's vectors have more numbers than a projector has room for: of a long one the largest are drawn, and how
many others there are.

additive   Bahdanau, Cho & Bengio 2014, section 3.1 and appendix A.1.2: e_ij = vᵀ tanh(W s_{i-1} + U h_j)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.compute.steps import (
    MINUS,
    NOTHING,
    ComputationStep,
    Matrix,
    Origin,
    Term,
    Vector,
    cell,
    dot,
    largest_remainder,
    number_text,
    softmax_origin,
    spelled,
    summed,
    weight_rows,
)
from attnviz.analysis.compute.steps import units as as_units
from attnviz.analysis.head_view import word_groups
from attnviz.core.head_inputs import Additive, DotProduct, Ingredients, Projected, Projections
from attnviz.core.trace import AttentionMap
from attnviz.core.weights import masked_softmax

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
    projection: Projected, at: int, names: tuple[str, str], result: Matrix, units: Excerpt, caption: Caption
) -> ComputationStep:
    """Show x W + b for the token at position `at`: `names` are those of x and W, `units` the numbers that `result` shows."""
    states, weight = projection.states[at].astype(np.float64), projection.weight.astype(np.float64)
    excerpt = Excerpt.of(np.abs(states * weight[list(units.kept)]).sum(axis=0), MOST_ROWS)
    left = excerpt_row(names[0], result.rows[0], states, excerpt)
    table, down = excerpt_matrix(names[1], weight.T, excerpt, units)
    across = excerpt.vector(left, states)
    origins = {
        (0, column): dot(across, down(column), cell(result, 0, column), also=float(projection.bias[unit]))
        for column, unit in enumerate(units.kept)
    }
    return ComputationStep(
        caption.symbol, caption.title, caption.formula, caption.sentence, (left, table, result), ("×", "="), origins
    )


def softmax_and_context(
    pair: QueryKey,
    keys: Excerpt,
    before: Matrix,
    scores: Float[np.ndarray, " key"],
    seen: Bool[np.ndarray, " key"] | None,
    value: Float[np.ndarray, "some value_dim"] | None,
    *,
    name: str = "V",
) -> list[ComputationStep]:
    """Show a row's way from its scores (`before`) to its weights, and to the context where the values are known."""
    weights = masked_softmax(scores, seen)
    steps = []
    if seen is not None and not seen.all():
        steps.append(_masked(pair, keys, before, scores, seen))
        before = steps[-1].result
    steps.append(_softmax(pair, keys, before, scores, weights, seen))
    if value is not None:
        steps.append(_context(pair, keys, steps[-1].result, weights, value, name))
    return steps


def _masked(pair: QueryKey, keys: Excerpt, before: Matrix, scores: np.ndarray, seen: np.ndarray) -> ComputationStep:
    see = np.array([[*seen[list(keys.kept)], *([True] if keys.rest else [])]])
    texts = tuple(text if ok else NOTHING for text, ok in zip(before.shown[0], see[0], strict=True))
    result = Matrix("M", before.values, before.rows, before.columns, (texts,), see, size=before.size)
    origins = {
        (0, column): Origin(
            (before.place(0, column),),
            (cell(before, 0, column), Term(" stays"))
            if see[0, column]
            else (cell(before, 0, column), Term(f" → {NOTHING}, so that its weight is exactly 0")),
        )
        for column in range(len(keys.kept))
    }
    sentence = f"“{pair.query_token}” must not see every token: what is hidden gets {NOTHING} instead of a score."
    at = keys.kept.index(pair.key)
    return ComputationStep("mask", "Mask", f"M = mask({before.name})", sentence, (before, result), ("→",), origins, (0, at))


def _softmax(
    pair: QueryKey, keys: Excerpt, before: Matrix, scores: np.ndarray, weights: np.ndarray, seen: np.ndarray | None
) -> ComputationStep:
    at = keys.kept.index(pair.key)
    row = np.array([[*weights[list(keys.kept)], *([weights[list(keys.rest)].sum()] if keys.rest else [])]])
    texts, totals = weight_rows(row, keep=at)
    result = Matrix(
        "α", row, before.rows, before.columns, texts, before.visible, totals=totals, size=f"1 × {keys.length:,}", weights=True
    )
    vector = keys.vector(before, scores)
    origins = {
        (0, column): softmax_origin(vector, seen, index, cell(result, 0, column)) for column, index in enumerate(keys.kept)
    }
    sentence = (
        f"e to the power of each score, divided by the sum: shares that add up to 1. “{pair.key_token}” gets "
        f"{weights[pair.key]:.4f} of the attention of “{pair.query_token}”."
    )
    return ComputationStep(
        "softmax", "Weights", f"α = softmax({before.name})", sentence, (before, result), ("→",), origins, (0, at)
    )


def _context(
    pair: QueryKey,
    keys: Excerpt,
    before: Matrix,
    weights: Float[np.ndarray, " key"],
    value: Float[np.ndarray, "some value_dim"],
    name: str,
) -> ComputationStep:
    # A sink has a weight, but nothing to hand over.
    value = np.concatenate([value, np.zeros((len(weights) - len(value), value.shape[1]))]).astype(np.float64)
    context = weights @ value
    dims = Excerpt.of(context, MOST_DIMS)
    table, down = excerpt_matrix(name, value, keys, dims, pair.keys)
    result = excerpt_row("c", pair.query_token, context, dims)
    weight_vector = keys.vector(before, weights)
    origins = {(0, column): dot(weight_vector, down(column), cell(result, 0, column)) for column in range(len(dims.kept))}
    what = "values" if name == "V" else "annotations"
    sentence = f"The {what}, mixed in these shares: what “{pair.query_token}” takes home from those it looked at."
    return ComputationStep(
        f"·{name}", "Context", f"c = Σ_j α_j {name.lower()}_j", sentence, (before, table, result), ("×", "="), origins
    )


def unfold_dot_product(inside: DotProduct, pair: QueryKey) -> tuple[ComputationStep, ...]:
    """List the steps of one weight of scaled dot-product attention, Vaswani et al. 2017, equation 1.

    The last step is the context, where the values are known; the one before it, or else the last, is the softmax.
    """
    query, made = inside.query[pair.query].astype(np.float64), inside.made
    scores = inside.key.astype(np.float64) @ query
    final, rows = _score_rows(inside, pair, scores)
    seen = None if inside.visible is None else inside.visible[pair.query]
    keys = Excerpt.of(masked_softmax(final, seen), MOST_KEYS, (pair.key,))
    steps: list[ComputationStep] = []
    if pair.key < len(scores):
        product_step = _query_key_product(inside, pair, query, float(scores[pair.key]))
        if made:
            excerpt = Excerpt.of(query * inside.key[pair.key], MOST_DIMS)
            steps.append(
                project(made.query, pair.query, ("x", "W_Q"), product_step.matrices[0], excerpt, _query_caption(made, pair))
            )
            steps.append(
                project(made.key, pair.key, ("x′", "W_K"), product_step.matrices[1], excerpt, _key_caption(made, pair))
            )
        steps.append(product_step)
    steps += _rows(inside, pair, keys, [("S", "Scores", "S = q Kᵀ", _WHY["S"], scores), *rows])
    steps += softmax_and_context(pair, keys, steps[-1].result, final, seen, inside.value)
    if made and inside.value is not None:
        steps.insert(-1, _value(made, pair, keys, masked_softmax(final, seen) @ inside.value, inside.value[pair.key]))
    return tuple(steps)


def _query_caption(projections: Projections, pair: QueryKey) -> Caption:
    head_dim, dim = projections.query.weight.shape
    sentence = (
        f"x is “{pair.query_token}” as this attention reads it: {dim:,} numbers. W_Q was learned, and {head_dim:,} of its "
        "columns are this head's. They ask: what am I looking for?"
    )
    return Caption("q", "The query", "q = x W_Q + b", sentence)


def _key_caption(projections: Projections, pair: QueryKey) -> Caption:
    sentence = f"x′ is “{pair.key_token}” as this attention reads it. Another matrix, W_K, says what it can be found by."
    return Caption("k", "The key", "k = x′ W_K + b", sentence)


def _value(
    projections: Projections,
    pair: QueryKey,
    keys: Excerpt,
    context: Float[np.ndarray, " dim"],
    value: Float[np.ndarray, " dim"],
) -> ComputationStep:
    """Make v of the key's token: the row of V that the context mixes in."""
    dims = Excerpt.of(context, MOST_DIMS)
    # The very cells of V in the context's step: a click on one of them there finds this one.
    result = replace(excerpt_row("V", pair.key_token, value, dims), label="v", first=(keys.kept.index(pair.key), 0))
    sentence = f"A third matrix, W_V, makes what “{pair.key_token}” hands over to those who look at it."
    caption = Caption("v", "The value", "v = x′ W_V + b", sentence)
    return project(projections.value, pair.key, ("x′", "W_V"), result, dims, caption)


_BEGINS = (
    " The path begins here: how this model makes them is not shown, because it is not x W + b alone, as where a rotary "
    "embedding turns them by their positions, or because attnviz does not know where its matrices are."
)
_WHY = {
    "S": "The same for every key: each gets a score.",
    "cap": "This model keeps scores within ±{cap:g}: softcap · tanh(score / softcap).",
    "bias": "This model adds a number of its own to each score, such as one for the distance of the two tokens.",
}


def _score_rows(inside: DotProduct, pair: QueryKey, scores: Float[np.ndarray, " key"]) -> tuple[np.ndarray, list]:
    """Compute what goes into the softmax, and the rows that lead there."""
    rows, name = [], "S"
    width = inside.query.shape[1]
    plain = np.isclose(inside.scaling, width**-0.5)
    if inside.scaling != 1:
        scores = scores * inside.scaling
        how = f"√{width} = {number_text(width**0.5)} takes back that a sum of {width} products grows with their number."
        why = how if plain else "This model has a scale of its own for its scores."
        rows.append(("S′", "Scale", f"S′ = S / √{width}" if plain else f"S′ = {inside.scaling:.4g} · S", why, scores))
        name = "S′"
    if inside.softcap is not None:
        scores = inside.softcap * np.tanh(scores / inside.softcap)
        rows.append(("T", "Soft cap", f"T = c · tanh({name} / c)", _WHY["cap"].format(cap=inside.softcap), scores))
        name = "T"
    if inside.bias is not None:
        scores = scores + inside.bias[pair.query]
        rows.append(("B", "Bias", f"B = {name} + bias", _WHY["bias"], scores))
    if inside.sink is not None:
        scores = np.append(scores, inside.sink)
        rows.append(
            ("Z", "Sink", "Z = [scores, sink]", "A learned score that takes attention but hands over no value.", scores)
        )
    return scores, rows


def _query_key_product(inside: DotProduct, pair: QueryKey, query: Float[np.ndarray, " dim"], score: float) -> ComputationStep:
    """Multiply q by k: the first step, of the two tokens alone."""
    key = inside.key[pair.key].astype(np.float64)
    excerpt = Excerpt.of(query * key, MOST_DIMS)
    left, right = excerpt_row("q", pair.query_token, query, excerpt), excerpt_row("k", pair.key_token, key, excerpt)
    result = Matrix("q·k", np.array([[score]]), (pair.query_token,), (pair.key_token,))
    origin = dot(excerpt.vector(left, query), excerpt.vector(right, key), cell(result, 0, 0))
    sentence = (
        f"q is what “{pair.query_token}” looks for, k what “{pair.key_token}” can be found by: {len(query)} numbers each, "
        f"which the model made of the two tokens. Their products add up to the score.{'' if inside.made else _BEGINS}"
    )
    return ComputationStep(
        "q·k", "Query meets key", "q · k = Σ_d q_d k_d", sentence, (left, right, result), ("·", "="), {(0, 0): origin}
    )


def _rows(inside: DotProduct, pair: QueryKey, keys: Excerpt, rows: list) -> list[ComputationStep]:
    """Show one row after the other, from the scores to what goes into the softmax."""
    names, steps = list(pair.keys), []
    previous: tuple[Matrix, np.ndarray] | None = None
    for name, title, formula, why, values in rows:
        full = np.append(values, [np.nan] * (keys.length - len(values)))
        result = excerpt_row(name, pair.query_token, full, keys, names)
        origins = {}
        for column, index in enumerate(keys.kept):
            if index >= len(values):
                continue
            if previous is None:
                origins[0, column] = _score_origin(inside, pair, index, cell(result, 0, column))
            elif index < len(previous[1]):
                origins[0, column] = Origin(
                    (previous[0].place(0, column),),
                    _row_terms(name, inside, pair, index, cell(previous[0], 0, column), result, column),
                )
        at = keys.kept.index(pair.key)
        shown_before = (previous[0],) if previous else ()
        steps.append(
            ComputationStep(
                _SYMBOLS[name], title, formula, why, (*shown_before, result), ("→",) * len(shown_before), origins, (0, at)
            )
        )
        previous = result, values
    return steps


_SYMBOLS = {"S": "q·K", "S′": "÷√d", "T": "cap", "B": "+ bias", "Z": "sink", "e": "all e"}


def _score_origin(inside: DotProduct, pair: QueryKey, index: int, result: Term) -> Origin:
    query, key = inside.query[pair.query].astype(np.float64), inside.key[index].astype(np.float64)
    return dot(Vector("q", query), Vector("k", key), result)


def _row_terms(
    name: str, inside: DotProduct, pair: QueryKey, index: int, before: Term, result: Matrix, column: int
) -> tuple[Term, ...]:
    after = cell(result, 0, column)
    width = inside.query.shape[1]
    if name == "S′" and np.isclose(inside.scaling, width**-0.5):
        return (before, Term(f" / √{width} = "), before, Term(f" / {number_text(width**0.5)} = "), after)
    if name == "S′":
        return (before, Term(f" · {inside.scaling:.4g} = "), after)
    if name == "T":
        return (Term(f"{inside.softcap:g} · tanh("), before, Term(f" / {inside.softcap:g}) = "), after)
    if name == "B" and inside.bias is not None:
        scores = result.values[0, column]
        added = as_units(float(scores)) - as_units(float(scores) - float(inside.bias[pair.query, index]))
        return (before, Term(f" + {spelled(added)} = ".replace("+ −", "− ")), after)
    return (before, Term(" stays"))


def unfold_additive(inside: Additive, pair: QueryKey) -> tuple[ComputationStep, ...]:
    """List the steps of one weight of additive attention; the last is the context, the one before it the softmax."""
    state_units = inside.w.astype(np.float64) @ inside.states[pair.query].astype(np.float64) + inside.b
    annotation_units = inside.memory.astype(np.float64) @ inside.u.astype(np.float64).T
    activations = np.tanh(state_units + annotation_units)
    energies = activations @ inside.v.astype(np.float64)
    keys = Excerpt.of(masked_softmax(energies, None), MOST_KEYS, (pair.key,))
    # The hidden units that decide this energy are shown throughout.
    units = Excerpt.of(activations[pair.key] * inside.v, MOST_DIMS)
    states, annotations = (
        Projected(inside.states, inside.w, inside.b),
        Projected(inside.memory, inside.u, np.zeros(len(inside.u))),
    )
    state_caption = Caption("W s", "The decoder state", "W s + b", _WHY_STATE.format(pair=pair))
    annotation_caption = Caption("U h", "The annotation", "U h", _WHY_ANNOTATION.format(pair=pair))
    steps = [
        project(
            states, pair.query, ("s", "Wᵀ"), excerpt_row("W s", pair.query_token, state_units, units), units, state_caption
        ),
        project(
            annotations,
            pair.key,
            ("h", "Uᵀ"),
            excerpt_row("U h", pair.key_token, annotation_units[pair.key], units),
            units,
            annotation_caption,
        ),
    ]
    steps.append(_sum(steps[0].result, steps[1].result, (state_units, annotation_units[pair.key]), units))
    steps.append(_tanh(steps[-1].result, activations[pair.key], units))
    steps.append(_energy(steps[-1].result, inside.v, activations[pair.key], float(energies[pair.key]), units, pair))
    steps.append(_energies(inside.v, activations, energies, keys, pair))
    return (*steps, *softmax_and_context(pair, keys, steps[-1].result, energies, None, inside.memory, name="H"))


_WHY_STATE = (
    "s is what the decoder knows before it writes “{pair.query_token}”. A learned matrix W, with the "
    "bias b, makes the query of it: what am I looking for?"
)
_WHY_ANNOTATION = (
    "h is what the encoder knows at “{pair.key_token}”. Another matrix, U, brings it to the same size: what is here?"
)


def _sum(state_term: Matrix, annotation_term: Matrix, values: tuple[np.ndarray, np.ndarray], units: Excerpt) -> ComputationStep:
    result = excerpt_row("z", "", values[0] + values[1], units)
    # Three numbers that all stand on the page must add up as they read.
    counts = [as_units(float(values[0][unit])) + as_units(float(values[1][unit])) for unit in units.kept]
    result = replace(result, shown=((*map(spelled, counts), *result.shown[0][len(counts) :]),))
    origins = {}
    for column in range(len(counts)):
        left, right = cell(state_term, 0, column), cell(annotation_term, 0, column)
        right = replace(right, text=f" + {right.text}".replace(f"+ {MINUS}", f"{MINUS} "))
        places = state_term.place(0, column), annotation_term.place(0, column)
        origins[0, column] = Origin(places, (left, right, Term(" = "), cell(result, 0, column)))
    sentence = "The two are added, unit by unit: this is why it is called additive attention."
    return ComputationStep(
        "+", "Sum", "z = W s + b + U h", sentence, (state_term, annotation_term, result), ("+", "="), origins
    )


def _tanh(before: Matrix, values: Float[np.ndarray, " unit"], units: Excerpt) -> ComputationStep:
    result = excerpt_row("t", "", values, units)
    origins = {
        (0, column): Origin(
            (before.place(0, column),), (Term("tanh("), cell(before, 0, column), Term(") = "), cell(result, 0, column))
        )
        for column in range(len(units.kept))
    }
    sentence = (
        f"tanh limits every unit to between {MINUS}1 and 1. Without it, W s would shift all scores of a row alike, and softmax "
        "would not notice."
    )
    return ComputationStep("tanh", "tanh", "t = tanh(z)", sentence, (before, result), ("→",), origins)


def _energy(
    before: Matrix,
    v: Float[np.ndarray, " unit"],
    values: Float[np.ndarray, " unit"],
    energy: float,
    units: Excerpt,
    pair: QueryKey,
) -> ComputationStep:
    learned = excerpt_row("v", "", v, units)
    result = Matrix("e", np.array([[energy]]), (pair.query_token,), (pair.key_token,))
    origin = dot(units.vector(learned, v.astype(np.float64)), units.vector(before, values), cell(result, 0, 0))
    sentence = f"One learned vector v weighs all {len(v)} units: how well do “{pair.query_token}” and “{pair.key_token}” fit?"
    return ComputationStep("v·", "Energy", "e = v · t", sentence, (learned, before, result), ("·", "="), {(0, 0): origin})


def _energies(v: np.ndarray, activations: np.ndarray, energies: np.ndarray, keys: Excerpt, pair: QueryKey) -> ComputationStep:
    result = excerpt_row("E", pair.query_token, energies, keys, pair.keys)
    origins = {}
    for column, index in enumerate(keys.kept):
        origins[0, column] = dot(Vector("v", v.astype(np.float64)), Vector("t", activations[index]), cell(result, 0, column))
    sentence = "The same for every source token: W s once, U h for each. Every token of the source gets an energy."
    at = keys.kept.index(pair.key)
    return ComputationStep("all e", "Energies", "e_j = v · tanh(W s + b + U h_j)", sentence, (result,), (), origins, (0, at))


@dataclass(frozen=True, eq=False)
class LinkSteps:
    """The steps, which of them ends in the weight, the weight as the heatmap has it, and how far apart the two are."""

    steps: tuple[ComputationStep, ...]
    last: int
    weight: float
    difference: float


def link_steps(
    inputs: Ingredients, attention: AttentionMap, head: tuple[int, int], link: QueryKey, *, words: bool
) -> LinkSteps:
    """Compute the weight of a link step by step; `head` is its layer and head, whose `inputs` these are.

    `words` adds the step that merges subwords to words.

    Raises:
        TraceError: there is no such layer or head.
    """
    steps = unfold_additive(inputs, link) if isinstance(inputs, Additive) else unfold_dot_product(inputs, link)
    weight = float(attention.weights(*head)[link.query, link.key])
    last = next(index for index, step in enumerate(steps) if step.result.weights)
    computed = float(steps[last].result.values[steps[last].start])
    if words and (step := _merge_step(attention, layer=head[0], head=head[1], query=link.query, key=link.key)):
        # Before the context: it is the heatmap's number, and no further step needs it.
        steps = (*steps[: last + 1], step, *steps[last + 1 :])
    return LinkSteps(steps, last, weight, abs(weight - computed))


def _merge_step(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> ComputationStep | None:
    """Show how the weights between the pieces of two words become one; None where both words are one piece."""
    queries, keys = (
        next(group for group in word_groups(tokens) if position in group)
        for tokens, position in ((attention.queries, query), (attention.keys, key))
    )
    if len(queries) == len(keys) == 1:
        return None
    weights = attention.weights(layer, head)[np.ix_(queries, keys)].astype(np.float64)
    rows, columns = (tuple(tokens[at].text for at in places) for tokens, places in
                     ((attention.queries, queries), (attention.keys, keys)))  # fmt: skip
    total = float(weights.sum())
    counts = largest_remainder(weights.ravel())
    texts, totals = weight_rows(weights)
    pieces = Matrix("α", weights, rows, columns, texts, totals=totals, size=f"{len(rows)} × {len(columns)}", weights=True)
    names = "".join(rows), "".join(columns)
    result = Matrix("word", np.array([[total / len(rows)]]), names[:1], names[1:], weights=True)
    over = f" / {len(rows)}" if len(rows) > 1 else ""
    text = f"({summed(counts)}){over} = {number_text(total)}{over} = " if over else f"{summed(counts)} = "
    cells = tuple(pieces.place(row, column) for row in range(len(rows)) for column in range(len(columns)))
    origin = Origin(cells, (Term(text), Term(result.shown[0][0], "word")))
    sentence = "What a word receives is the sum over its pieces; what it gives is the mean over them."
    return ComputationStep(
        "word", "Whole words", "Σ over keys, mean over queries", sentence, (pieces, result), ("→",), {(0, 0): origin}
    )
