"""One weight of scaled dot-product attention in a real model, step by step: from q and k to the number in the heatmap."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, MOST_KEYS, Caption, Excerpt, QueryKey, excerpt_row, project
from attnviz.analysis.compute.rounding import number_text, spelled
from attnviz.analysis.compute.rounding import units as as_units
from attnviz.analysis.compute.softmax_context import softmax_and_context
from attnviz.analysis.compute.steps import ComputationStep, Matrix, Origin, Term, Vector, cell, dot
from attnviz.core.arrays import masked_softmax
from attnviz.core.errors import TraceError
from attnviz.core.head_inputs import DotProduct, Projections
from attnviz.core.trace import AttentionMap, QueryKeyWeights


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


def _query_caption(made: Projections, pair: QueryKey) -> Caption:
    head_dim, dim = made.query.weight.shape
    sentence = (
        f"x is “{pair.query_token}” as this attention reads it: {dim:,} numbers. W_Q was learned, and {head_dim:,} of its "
        "columns are this head's. They ask: what am I looking for?"
    )
    return Caption("q", "The query", "q = x W_Q + b", sentence)


def _key_caption(made: Projections, pair: QueryKey) -> Caption:
    sentence = f"x′ is “{pair.key_token}” as this attention reads it. Another matrix, W_K, says what it can be found by."
    return Caption("k", "The key", "k = x′ W_K + b", sentence)


def _value(
    made: Projections, pair: QueryKey, keys: Excerpt, context: Float[np.ndarray, " dim"], value: Float[np.ndarray, " dim"]
) -> ComputationStep:
    """Make v of the key's token: the row of V that the context mixes in."""
    dims = Excerpt.of(context, MOST_DIMS)
    # The very cells of V in the context's step: a click on one of them there finds this one.
    result = replace(excerpt_row("V", pair.key_token, value, dims), label="v", first=(keys.kept.index(pair.key), 0))
    sentence = f"A third matrix, W_V, makes what “{pair.key_token}” hands over to those who look at it."
    return project(made.value, pair.key, ("x′", "W_V"), result, dims, Caption("v", "The value", "v = x′ W_V + b", sentence))


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


@dataclass(frozen=True)
class Score:
    """weight = softmax over keys of (product · scaling), 0 where the key is masked; `dim` is the size of the two vectors."""

    product: float
    scaling: float
    weight: float
    dim: int

    @property
    def scaled(self) -> float:
        return self.product * self.scaling


def score(attention: AttentionMap, *, layer: int, head: int, query: int, key: int) -> Score | None:
    """Read the dot product behind a weight; None where the weight is not the softmax of a plain scaled dot product.

    Raises:
        TraceError: there is no such layer, head, query or key.

    >>> import numpy as np
    >>> from attnviz.core.trace import Token
    >>> from attnviz.core.query_key import QueryKeyLayer
    >>> vectors = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    >>> tokens = (Token("a", 0, 1), Token("b", 2, 3))
    >>> attention = AttentionMap("encoder", tokens, tokens, QueryKeyWeights((QueryKeyLayer(vectors, vectors, 0.5),)))
    >>> link = score(attention, layer=0, head=0, query=0, key=1)
    >>> link.product, link.scaled, round(link.weight, 4)
    (11.0, 5.5, 0.9526)
    """
    weights = attention.weights(layer, head)
    for axis, index, size in zip(("query", "key"), (query, key), weights.shape, strict=True):
        if not 0 <= index < size:
            raise TraceError(f"there is no {axis} {index}: {attention.kind} attention has {size}")
    if not isinstance(attention.store, QueryKeyWeights):
        return None
    vectors = attention.store.layers[layer]
    if vectors.bias is not None or vectors.softcap is not None or vectors.sink is not None:
        return None
    group = vectors.query.shape[0] // vectors.key.shape[0]
    product = float(vectors.query[head, query] @ vectors.key[head // group, key])
    return Score(product, vectors.scaling, float(weights[query, key]), vectors.query.shape[2])
