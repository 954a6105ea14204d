"""One weight of additive attention in a real model, step by step: from two states to the number in the heatmap.

Bahdanau, Cho & Bengio 2014, section 3.1 and appendix A.1.2: e_ij = vᵀ tanh(W s_{i-1} + U h_j).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, MOST_KEYS, Caption, Excerpt, QueryKey, excerpt_row, project
from attnviz.analysis.compute.rounding import MINUS, spelled
from attnviz.analysis.compute.rounding import units as as_units
from attnviz.analysis.compute.softmax_context import softmax_and_context
from attnviz.analysis.compute.steps import ComputationStep, Matrix, Origin, Term, Vector, cell, dot
from attnviz.core.arrays import masked_softmax
from attnviz.core.head_inputs import Additive, Projected


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
