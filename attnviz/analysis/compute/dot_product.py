"""One weight of scaled dot-product attention in a real model, step by step: from q and k to the number in the heatmap."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, MOST_KEYS, Few, Link, strip
from attnviz.analysis.compute.projection import Words, project
from attnviz.analysis.compute.rounding import shown, spelled
from attnviz.analysis.compute.rounding import units as as_units
from attnviz.analysis.compute.softmax_context import ending, row_weights
from attnviz.analysis.compute.steps import Matrix, Origin, Part, Step, Vector, cell, dot
from attnviz.core.head_inputs import DotProduct, Projections


def unfold_dot_product(inside: DotProduct, link: Link) -> tuple[Step, ...]:
    """The steps of one weight of scaled dot-product attention, Vaswani et al. 2017, equation 1.

    The last step is the context, where the values are known; the one before it, or else the last, is the softmax.
    """
    query, made = inside.query[link.query].astype(np.float64), inside.made
    scores = inside.key.astype(np.float64) @ query
    final, rows = _to_energy(inside, link, scores)
    seen = None if inside.visible is None else inside.visible[link.query]
    keys = Few.of(row_weights(final, seen), MOST_KEYS, (link.key,))
    steps: list[Step] = []
    if link.key < len(scores):
        meeting = _meeting(inside, link, query, float(scores[link.key]))
        if made:
            few = Few.of(query * inside.key[link.key], MOST_DIMS)
            steps.append(project(made.query, link.query, ("x", "W_Q"), meeting.matrices[0], few, _asks(made, link)))
            steps.append(project(made.key, link.key, ("x′", "W_K"), meeting.matrices[1], few, _offers(made, link)))
        steps.append(meeting)
    steps += _rows(inside, link, keys, [("S", "Scores", "S = q Kᵀ", _WHY["S"], scores), *rows])
    steps += ending(link, keys, steps[-1].result, final, seen, inside.value)
    if made and inside.value is not None:
        steps.insert(-1, _value(made, link, keys, row_weights(final, seen) @ inside.value, inside.value[link.key]))
    return tuple(steps)


def _asks(made: Projections, link: Link) -> Words:
    head_dim, dim = made.query.weight.shape
    told = (
        f"x is “{link.asking}” as this attention reads it: {dim:,} numbers. W_Q was learned, and {head_dim:,} of its columns "
        "are this head's. They ask: what am I looking for?"
    )
    return Words("q", "The query", "q = x W_Q + b", told)


def _offers(made: Projections, link: Link) -> Words:
    told = f"x′ is “{link.asked}” as this attention reads it. Another matrix, W_K, says what it can be found by."
    return Words("k", "The key", "k = x′ W_K + b", told)


def _value(
    made: Projections, link: Link, keys: Few, context: Float[np.ndarray, " dim"], value: Float[np.ndarray, " dim"]
) -> Step:
    """v of the token that is looked at: the row of V that the context mixes in."""
    dims = Few.of(context, MOST_DIMS)
    # The very cells of V in the context's step: a click on one of them there finds this one.
    result = replace(strip("V", link.asked, value, dims), label="v", first=(keys.kept.index(link.key), 0))
    told = f"A third matrix, W_V, makes what “{link.asked}” hands over to those who look at it."
    return project(made.value, link.key, ("x′", "W_V"), result, dims, Words("v", "The value", "v = x′ W_V + b", told))


_BEGINS = (
    " The path begins here: how this model makes them is not shown, because it is not x W + b alone, as where a rotary "
    "embedding turns them by their positions, or because attnviz does not know where its matrices are."
)
_WHY = {
    "S": "The same for every key: each gets a score.",
    "cap": "This model keeps scores within ±{cap:g}: softcap · tanh(score / softcap).",
    "bias": "This model adds a number of its own to each score, such as one for the distance of the two tokens.",
}


def _to_energy(inside: DotProduct, link: Link, scores: Float[np.ndarray, " key"]) -> tuple[np.ndarray, list]:
    """What goes into the softmax, and the rows that lead there."""
    rows, name = [], "S"
    width = inside.query.shape[1]
    plain = np.isclose(inside.scaling, width**-0.5)
    if inside.scaling != 1:
        scores = scores * inside.scaling
        how = f"√{width} = {shown(width**0.5)} takes back that a sum of {width} products grows with their number."
        why = how if plain else "This model has a scale of its own for its scores."
        rows.append(("S′", "Scale", f"S′ = S / √{width}" if plain else f"S′ = {inside.scaling:.4g} · S", why, scores))
        name = "S′"
    if inside.softcap is not None:
        scores = inside.softcap * np.tanh(scores / inside.softcap)
        rows.append(("T", "Soft cap", f"T = c · tanh({name} / c)", _WHY["cap"].format(cap=inside.softcap), scores))
        name = "T"
    if inside.bias is not None:
        scores = scores + inside.bias[link.query]
        rows.append(("B", "Bias", f"B = {name} + bias", _WHY["bias"], scores))
    if inside.sink is not None:
        scores = np.append(scores, inside.sink)
        rows.append(
            ("Z", "Sink", "Z = [scores, sink]", "A learned score that takes attention but hands over no value.", scores)
        )
    return scores, rows


def _meeting(inside: DotProduct, link: Link, query: Float[np.ndarray, " dim"], score: float) -> Step:
    """q·k: the first step, of the two tokens alone."""
    key = inside.key[link.key].astype(np.float64)
    few = Few.of(query * key, MOST_DIMS)
    left, right = strip("q", link.asking, query, few), strip("k", link.asked, key, few)
    result = Matrix("q·k", np.array([[score]]), (link.asking,), (link.asked,))
    origin = dot(few.vector(left, query), few.vector(right, key), cell(result, 0, 0))
    told = (
        f"q is what “{link.asking}” looks for, k what “{link.asked}” can be found by: {len(query)} numbers each, which the "
        f"model made of the two tokens. Their products add up to the score.{'' if inside.made else _BEGINS}"
    )
    return Step("q·k", "Query meets key", "q · k = Σ_d q_d k_d", told, (left, right, result), ("·", "="), {(0, 0): origin})


def _rows(inside: DotProduct, link: Link, keys: Few, rows: list) -> list[Step]:
    """One row after the other, from the scores to what goes into the softmax."""
    names, steps = list(link.keys), []
    previous: tuple[Matrix, np.ndarray] | None = None
    for name, title, formula, why, values in rows:
        full = np.append(values, [np.nan] * (keys.length - len(values)))
        result = strip(name, link.asking, full, keys, names)
        origins = {}
        for column, index in enumerate(keys.kept):
            if index >= len(values):
                continue
            if previous is None:
                origins[0, column] = _score_origin(inside, link, index, cell(result, 0, column))
            elif index < len(previous[1]):
                origins[0, column] = Origin(
                    (previous[0].place(0, column),),
                    _changed(name, inside, link, index, cell(previous[0], 0, column), result, column),
                )
        at = keys.kept.index(link.key)
        shown_before = (previous[0],) if previous else ()
        steps.append(
            Step(_SYMBOLS[name], title, formula, why, (*shown_before, result), ("→",) * len(shown_before), origins, (0, at))
        )
        previous = result, values
    return steps


_SYMBOLS = {"S": "q·K", "S′": "÷√d", "T": "cap", "B": "+ bias", "Z": "sink", "e": "all e"}


def _score_origin(inside: DotProduct, link: Link, index: int, result: Part) -> Origin:
    query, key = inside.query[link.query].astype(np.float64), inside.key[index].astype(np.float64)
    return dot(Vector("q", query), Vector("k", key), result)


def _changed(
    name: str, inside: DotProduct, link: Link, index: int, before: Part, result: Matrix, column: int
) -> tuple[Part, ...]:
    after = cell(result, 0, column)
    width = inside.query.shape[1]
    if name == "S′" and np.isclose(inside.scaling, width**-0.5):
        return (before, Part(f" / √{width} = "), before, Part(f" / {shown(width**0.5)} = "), after)
    if name == "S′":
        return (before, Part(f" · {inside.scaling:.4g} = "), after)
    if name == "T":
        return (Part(f"{inside.softcap:g} · tanh("), before, Part(f" / {inside.softcap:g}) = "), after)
    if name == "B" and inside.bias is not None:
        scores = result.values[0, column]
        added = as_units(float(scores)) - as_units(float(scores) - float(inside.bias[link.query, index]))
        return (before, Part(f" + {spelled(added)} = ".replace("+ −", "− ")), after)
    return (before, Part(" stays"))
