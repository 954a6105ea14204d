"""Which attribution method finds a truth that is known, over the course of training, and whether five seeds agree on that.

Seeds agree where Kendall's τ between any two of their rankings is at least the bar.
"""

import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from attnviz.analysis.matters import PlantedScores, kendall_tau, ranking
from attnviz.attribution.dataset import planted_scores
from attnviz.attribution.methods import USUAL
from attnviz.models import toy_model as toys
from attnviz.models.toy_config import ToyRecipe, preset
from attnviz.training.toy_training import Training
from benchmarks.harness import Row, run

STABLE = 0.8


def scored(recipe: ToyRecipe, sources: int, checkpoints: int) -> list[PlantedScores]:
    """Train a toy, and score every method at evenly spaced checkpoints."""
    training, scores = Training(recipe), []
    at = {round(recipe.steps * part / checkpoints) for part in range(1, checkpoints + 1)}
    while not training.ended:
        training.step()
        if training.taken in at:
            model = toys.toy_model(recipe.model, training.look().weights)
            scores.append(planted_scores(model, training.held_out.solved[:sources], USUAL, step=training.taken))
    return scores


def over_seeds(rankings: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """Compute each method's mean distance over the seeds that have it and its standard deviation (of a sample), nearest first.

    >>> over_seeds([{"a": 0.5, "b": 0.25}, {"a": 0.5, "b": 0.25}])
    {'b': (0.25, 0.0), 'a': (0.5, 0.0)}
    >>> over_seeds([{"a": 0.5}, {"b": 0.25}])
    {'b': (0.25, 0.0), 'a': (0.5, 0.0)}
    """
    names = dict.fromkeys(name for each in rankings for name in each)
    values = {name: np.array([each[name] for each in rankings if name in each]) for name in names}
    summary = {name: (float(of.mean()), float(of.std(ddof=1)) if len(of) > 1 else 0.0) for name, of in values.items()}
    return dict(sorted(summary.items(), key=lambda item: item[1]))


def agreement(rankings: Sequence[Mapping[str, float]]) -> list[float]:
    """Compute Kendall's τ between the rankings of any two seeds, of the methods that both know.

    >>> agreement([{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.4}, {"b": 0.1, "a": 0.2}])
    [1.0, -1.0, -1.0]
    """
    correlations = []
    for place, one in enumerate(rankings):
        for other in rankings[place + 1 :]:
            names = [name for name in one if name in other]
            correlations.append(kendall_tau(*(np.array([each[name] for name in names]) for each in (one, other))))
    return correlations


def rows(given: Namespace) -> Iterator[Row]:
    """Each seed's ranking, the mean and spread over seeds, and how far any two of them agree."""
    torch.set_num_threads(1)
    rankings = []
    for seed in range(1, given.seeds + 1):
        begun = time.perf_counter()
        recipe = preset(given.toy).recipe
        scores = scored(replace(recipe, seed=seed, steps=given.steps or recipe.steps), given.sources, given.checkpoints)
        rankings.append(ranking(scores))
        told = ", ".join(f"{way} {far:.3f}" for way, far in rankings[-1].items())
        right = " ".join(f"{each.accuracy:.2f}" for each in scores)
        yield Row(f"{given.toy} seed {seed}: {time.perf_counter() - begun:.0f} s, right {right}", told)
    for way, (mean, spread) in over_seeds(rankings).items():
        yield Row(f"{way}: mean, spread", f"{mean:.3f}, {spread:.3f}")
    least = min(agreement(rankings), default=1.0)
    yield Row(f"least Kendall τ between two of {given.seeds} seeds", f"{least:.2f}", f"≥ {STABLE}", least >= STABLE)


if __name__ == "__main__":
    sizes = {"seeds": (5, 2), "sources": (16, 1), "checkpoints": (5, 1), "steps": (0, 4)}
    run(rows, minutes=30, sizes={"toy": ("toy-transformer", "toy-reverse"), **sizes})
