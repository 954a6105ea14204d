"""How every attention ends: a row of scores, a mask, softmax, and the values mixed in the shares it gives."""

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, Excerpt, QueryKey, excerpt_matrix, excerpt_row
from attnviz.analysis.compute.steps import (
    NOTHING,
    ComputationStep,
    Matrix,
    Origin,
    Term,
    cell,
    dot,
    softmax_origin,
    weight_rows,
)
from attnviz.core.arrays import masked_softmax


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
