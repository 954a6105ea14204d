"""How every attention ends: a row of scores, a mask, softmax, and the values mixed in the shares it gives."""

import numpy as np
from jaxtyping import Bool, Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, Few, Link, grid, strip
from attnviz.analysis.compute.steps import NOTHING, Matrix, Origin, Part, Step, cell, dot, softmax_origin, weight_rows


def row_weights(scores: Float[np.ndarray, " key"], visible: Bool[np.ndarray, " key"] | None) -> Float[np.ndarray, " key"]:
    """The softmax of one row; all zeros where it sees nothing."""
    seen = np.ones(len(scores), dtype=bool) if visible is None else visible
    if not seen.any():
        return np.zeros(len(scores))
    energy = np.exp(np.where(seen, scores - scores[seen].max(), -np.inf))
    return energy / energy.sum()


def ending(
    link: Link,
    keys: Few,
    before: Matrix,
    scores: Float[np.ndarray, " key"],
    seen: Bool[np.ndarray, " key"] | None,
    value: Float[np.ndarray, "some value_dim"] | None,
    *,
    name: str = "V",
) -> list[Step]:
    """From the scores of a row, shown in `before`, to its weights, and to the context where the values are known."""
    weights = row_weights(scores, seen)
    steps = []
    if seen is not None and not seen.all():
        steps.append(_masked(link, keys, before, scores, seen))
        before = steps[-1].result
    steps.append(_softmax(link, keys, before, scores, weights, seen))
    if value is not None:
        steps.append(_context(link, keys, steps[-1].result, weights, value, name))
    return steps


def _masked(link: Link, keys: Few, before: Matrix, scores: np.ndarray, seen: np.ndarray) -> Step:
    see = np.array([[*seen[list(keys.kept)], *([True] if keys.rest else [])]])
    texts = tuple(text if ok else NOTHING for text, ok in zip(before.shown[0], see[0], strict=True))
    result = Matrix("M", before.values, before.rows, before.columns, (texts,), see, size=before.size)
    origins = {
        (0, column): Origin(
            (before.place(0, column),),
            (cell(before, 0, column), Part(" stays"))
            if see[0, column]
            else (cell(before, 0, column), Part(f" → {NOTHING}, so that its weight is exactly 0")),
        )
        for column in range(len(keys.kept))
    }
    told = f"“{link.asking}” must not see every token: what is hidden gets {NOTHING} instead of a score."
    at = keys.kept.index(link.key)
    return Step("mask", "Mask", f"M = mask({before.name})", told, (before, result), ("→",), origins, (0, at))


def _softmax(link: Link, keys: Few, before: Matrix, scores: np.ndarray, weights: np.ndarray, seen: np.ndarray | None) -> Step:
    at = keys.kept.index(link.key)
    row = np.array([[*weights[list(keys.kept)], *([weights[list(keys.rest)].sum()] if keys.rest else [])]])
    texts, totals = weight_rows(row, keep=at)
    result = Matrix(
        "α", row, before.rows, before.columns, texts, before.visible, totals=totals, size=f"1 × {keys.length:,}", weights=True
    )
    vector = keys.vector(before, scores)
    origins = {
        (0, column): softmax_origin(vector, seen, index, cell(result, 0, column)) for column, index in enumerate(keys.kept)
    }
    told = (
        f"e to the power of each score, divided by the sum: shares that add up to 1. “{link.asked}” gets "
        f"{weights[link.key]:.4f} of the attention of “{link.asking}”."
    )
    return Step("softmax", "Weights", f"α = softmax({before.name})", told, (before, result), ("→",), origins, (0, at))


def _context(
    link: Link,
    keys: Few,
    before: Matrix,
    weights: Float[np.ndarray, " key"],
    value: Float[np.ndarray, "some value_dim"],
    name: str,
) -> Step:
    # A sink has a weight, but nothing to hand over.
    value = np.concatenate([value, np.zeros((len(weights) - len(value), value.shape[1]))]).astype(np.float64)
    context = weights @ value
    dims = Few.of(context, MOST_DIMS)
    table, down = grid(name, value, keys, dims, link.keys)
    result = strip("c", link.asking, context, dims)
    given = keys.vector(before, weights)
    origins = {(0, column): dot(given, down(column), cell(result, 0, column)) for column in range(len(dims.kept))}
    what = "values" if name == "V" else "annotations"
    told = f"The {what}, mixed in these shares: what “{link.asking}” takes home from those it looked at."
    return Step(f"·{name}", "Context", f"c = Σ_j α_j {name.lower()}_j", told, (before, table, result), ("×", "="), origins)
