"""How far each way's shares tell what matters to a model: it is asked again, with words taken away."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.matters.faithfulness import (
    PARTS,
    Faithfulness,
    Removals,
    by_word,
    count,
    curve,
    kendall_tau,
    measured,
    order,
    removals,
)  # fmt: skip
from attnviz.analysis.matters.methods import Method
from attnviz.attribution.methods import shares
from attnviz.attribution.removal import outcomes, words
from attnviz.core.errors import ModelError
from attnviz.core.shares import Shares
from attnviz.models.bound_target import BoundTarget


@dataclass(frozen=True, eq=False)
class Asked:
    """What some ways said of one text, and how long each took; `refused` has the reason of each that does not apply."""

    shares: Mapping[str, Shares]
    milliseconds: Mapping[str, float]
    refused: Mapping[str, str]


def ask(bound: BoundTarget, ways: Sequence[Method], begin: Callable[[Method], None] = lambda _: None) -> Asked:
    """Ask several ways, each after `begin` has been told of it; one that does not apply says why."""
    made: dict[str, Shares] = {}
    refused: dict[str, str] = {}
    took: dict[str, float] = {}
    for way in ways:
        begin(way)
        started = time.perf_counter()
        try:
            made[way.name] = shares(way, bound)
        except ModelError as error:
            refused[way.name] = str(error)
        took[way.name] = (time.perf_counter() - started) * 1000
    return Asked(made, took, refused)


def faithfulness(bound: BoundTarget, asked: Asked) -> dict[str, Faithfulness]:
    """Measure each way on this text; τ where leaving one word out is among them.

    Raises:
        ModelError: there is no word that can be taken away.
    """
    groups = takeable(bound)
    by_way = {name: by_word(each.values, groups) for name, each in asked.shares.items()}
    counts = [count(part, len(groups)) for part in PARTS]
    rows = [np.zeros((1, len(bound.tokens)), dtype=bool)]
    for values in by_way.values():
        rows += removals(order(values), groups, len(bound.tokens), counts)
    probabilities = _probabilities(bound, np.concatenate(rows))
    full, left_out = float(probabilities[0]), by_way.get("leave-one-out")
    figures, size = {}, len(counts)
    for place, (name, values) in enumerate(by_way.items()):
        mine = probabilities[1 + 2 * size * place :][: 2 * size]
        tau = None if left_out is None else kendall_tau(values, left_out)
        figures[name] = measured(name, full, mine[:size], mine[size:], tau=tau, ms=asked.milliseconds[name])
    return figures


def deletion_curve(bound: BoundTarget, groups: Sequence[tuple[int, ...]], ranked: Sequence[int]) -> Removals:
    """Measure p(output) while words are taken away in the order of their places in `groups`, and in the reverse order."""
    places = np.array(ranked, dtype=int)
    gone = curve(places)
    most, _ = removals(places, groups, len(bound.tokens), gone)
    least, _ = removals(places[::-1], groups, len(bound.tokens), gone)
    probabilities = _probabilities(bound, np.concatenate([most, least]))
    return Removals(tuple(gone), tuple(probabilities[: len(gone)].tolist()), tuple(probabilities[len(gone) :].tolist()))


def takeable(bound: BoundTarget) -> tuple[tuple[int, ...], ...]:
    """The words that can be taken away.

    Raises:
        ModelError: there is none.
    """
    if groups := words(bound.tokens, bound.fixed):
        return groups
    raise ModelError("There is no word besides the output's own that could be taken away: type a longer text.")


def _probabilities(bound: BoundTarget, taken: np.ndarray) -> np.ndarray:
    """p(output) of each text; a text that stands there twice is read once."""
    texts, places = np.unique(taken, axis=0, return_inverse=True)
    return np.exp(outcomes(bound, texts)[1])[places.reshape(-1)]
