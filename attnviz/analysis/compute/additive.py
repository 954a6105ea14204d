"""One weight of additive attention in a real model, step by step: from two states to the number in the heatmap.

Bahdanau, Cho & Bengio 2014, section 3.1 and appendix A.1.2: e_ij = vᵀ tanh(W s_{i-1} + U h_j).
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from attnviz.analysis.compute.long_vectors import MOST_DIMS, MOST_KEYS, Few, Link, strip
from attnviz.analysis.compute.projection import Words, project
from attnviz.analysis.compute.rounding import MINUS, spelled
from attnviz.analysis.compute.rounding import units as as_units
from attnviz.analysis.compute.softmax_context import ending, row_weights
from attnviz.analysis.compute.steps import Matrix, Origin, Part, Step, Vector, cell, dot
from attnviz.core.head_inputs import Additive, Projected


def unfold_additive(inside: Additive, link: Link) -> tuple[Step, ...]:
    """The steps of one weight of additive attention; the last is the context, the one before it the softmax."""
    asked = inside.w.astype(np.float64) @ inside.states[link.query].astype(np.float64) + inside.b
    offered = inside.memory.astype(np.float64) @ inside.u.astype(np.float64).T
    bent = np.tanh(asked + offered)
    energies = bent @ inside.v.astype(np.float64)
    keys = Few.of(row_weights(energies, None), MOST_KEYS, (link.key,))
    # The hidden units that decide this energy are shown throughout.
    units = Few.of(bent[link.key] * inside.v, MOST_DIMS)
    states, annotations = (
        Projected(inside.states, inside.w, inside.b),
        Projected(inside.memory, inside.u, np.zeros(len(inside.u))),
    )
    asks = Words("W s", "The state asks", "W s + b", _WHY_STATE.format(link=link))
    offers = Words("U h", "The annotation offers", "U h", _WHY_ANNOTATION.format(link=link))
    steps = [
        project(states, link.query, ("s", "Wᵀ"), strip("W s", link.asking, asked, units), units, asks),
        project(annotations, link.key, ("h", "Uᵀ"), strip("U h", link.asked, offered[link.key], units), units, offers),
    ]
    steps.append(_sum(steps[0].result, steps[1].result, (asked, offered[link.key]), units))
    steps.append(_bent(steps[-1].result, bent[link.key], units))
    steps.append(_energy(steps[-1].result, inside.v, bent[link.key], float(energies[link.key]), units, link))
    steps.append(_energies(inside.v, bent, energies, keys, link))
    return (*steps, *ending(link, keys, steps[-1].result, energies, None, inside.memory, name="H"))


_WHY_STATE = (
    "s is what the decoder knows before it writes “{link.asking}”. A learned matrix W asks with it, and b is its bias: "
    "what am I looking for?"
)
_WHY_ANNOTATION = "h is what the encoder knows at “{link.asked}”. Another matrix, U, brings it to the same size: what is here?"


def _sum(asked: Matrix, offered: Matrix, values: tuple[np.ndarray, np.ndarray], units: Few) -> Step:
    result = strip("z", "", values[0] + values[1], units)
    # Three numbers that all stand on the page must add up as they read.
    counts = [as_units(float(values[0][unit])) + as_units(float(values[1][unit])) for unit in units.kept]
    result = replace(result, shown=((*map(spelled, counts), *result.shown[0][len(counts) :]),))
    origins = {}
    for column in range(len(counts)):
        left, right = cell(asked, 0, column), cell(offered, 0, column)
        right = replace(right, text=f" + {right.text}".replace(f"+ {MINUS}", f"{MINUS} "))
        places = asked.place(0, column), offered.place(0, column)
        origins[0, column] = Origin(places, (left, right, Part(" = "), cell(result, 0, column)))
    told = "The two are added, unit by unit: this is why it is called additive attention."
    return Step("+", "Added", "z = W s + b + U h", told, (asked, offered, result), ("+", "="), origins)


def _bent(before: Matrix, values: Float[np.ndarray, " unit"], units: Few) -> Step:
    result = strip("t", "", values, units)
    origins = {
        (0, column): Origin(
            (before.place(0, column),), (Part("tanh("), cell(before, 0, column), Part(") = "), cell(result, 0, column))
        )
        for column in range(len(units.kept))
    }
    told = (
        f"tanh bends every unit to between {MINUS}1 and 1. Without it, W s would shift all scores of a row alike, and softmax "
        "would not notice."
    )
    return Step("tanh", "Bent", "t = tanh(z)", told, (before, result), ("→",), origins)


def _energy(
    before: Matrix, v: Float[np.ndarray, " unit"], values: Float[np.ndarray, " unit"], energy: float, units: Few, link: Link
) -> Step:
    learned = strip("v", "", v, units)
    result = Matrix("e", np.array([[energy]]), (link.asking,), (link.asked,))
    origin = dot(units.vector(learned, v.astype(np.float64)), units.vector(before, values), cell(result, 0, 0))
    told = f"One learned vector v weighs all {len(v)} units: how well do “{link.asking}” and “{link.asked}” fit?"
    return Step("v·", "Energy", "e = v · t", told, (learned, before, result), ("·", "="), {(0, 0): origin})


def _energies(v: np.ndarray, bent: np.ndarray, energies: np.ndarray, keys: Few, link: Link) -> Step:
    result = strip("E", link.asking, energies, keys, link.keys)
    origins = {}
    for column, index in enumerate(keys.kept):
        origins[0, column] = dot(Vector("v", v.astype(np.float64)), Vector("t", bent[index]), cell(result, 0, column))
    told = "The same for every source token: W s once, U h for each. Every token of the source gets an energy."
    at = keys.kept.index(link.key)
    return Step("all e", "Energies", "e_j = v · tanh(W s + b + U h_j)", told, (result,), (), origins, (0, at))
