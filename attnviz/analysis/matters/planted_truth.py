"""How far shares are from a known truth: in these tasks it is known from which places each output token comes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.analysis.wording import Part, Sentence


def distance(shares: Float[np.ndarray, " token"], links: Collection[int]) -> float:
    """Measure how much of the positive shares falls outside the places that an output token comes from, 0 to 1.

    Negative shares count as 0; where no share is positive, it is 1.

    >>> distance(np.array([0.5, 0.25, -3.0, 0.25]), {0, 1}), distance(np.array([-1.0, 0.0]), {0})
    (0.25, 1.0)
    """
    positive = np.maximum(shares, 0)
    total = float(positive.sum())
    return 1 - float(positive[list(links)].sum()) / total if total > 0 else 1.0


@dataclass(frozen=True)
class PlantedScores:
    """Each method's distance from the truth after so many steps of training; `refused` says why one does not apply.

    distances  the mean of `distance` over output tokens that come from somewhere
    accuracy   share of the sequences whose every token the model writes right
    """

    step: int
    distances: Mapping[str, float]
    accuracy: float
    refused: Mapping[str, str]


def ranking(scores: Sequence[PlantedScores]) -> dict[str, float]:
    """Average each method's distance over checkpoints, the nearest method first."""
    names = scores[-1].distances
    means = {name: float(np.mean([each.distances[name] for each in scores])) for name in names}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def describe_ranking(scores: Sequence[PlantedScores], titles: Mapping[str, str]) -> Sentence:
    """Say which method is nearest to the truth over all checkpoints, and how far attention and chance are from it.

    >>> from attnviz.analysis.wording import plain
    >>> scores, titles = {"rollout": 0.25, "random": 0.75}, {"rollout": "Attention rollout", "random": "Chance"}
    >>> plain(describe_ranking([PlantedScores(9, scores, 1.0, {})], titles))
    'Attention rollout is nearest to the truth: 0.25 of its shares fall outside the right places; of chance, 0.75.'
    """
    means = ranking(scores)
    best = next(name for name in means if name != "random")
    others = [name for name in ("attention", "random") if name in means and name != best]
    beside = "".join(f"; of {_lower(titles[name])}, {means[name]:.2f}" for name in others)
    lies = Part(f" of its shares fall outside the right places{beside}.")
    return (Part(titles[best], True), Part(" is nearest to the truth: "), Part(f"{means[best]:.2f}", True), lies)


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]
