"""Which way of asking finds a truth that is known, over the course of training, and whether five seeds agree on that.

Usage: python benchmarks/bench_planted.py [TOY] [SEEDS] [SOURCES]
"""

import sys
import time
from dataclasses import replace

import torch

from attnviz.analysis.matters.planted_truth import PlantedScores, agreement, over_seeds, ranking
from attnviz.attribution.methods import USUAL
from attnviz.attribution.planted import planted_scores
from attnviz.models.translate import toy as toys
from attnviz.training.presets import preset
from attnviz.training.toy import ToyRecipe, Training

CHECKPOINTS = 5
# Seeds agree where Kendall's τ between any two of their rankings is at least this.
STABLE = 0.8


def scored(recipe: ToyRecipe, sources: int) -> list[PlantedScores]:
    """Train a toy, and score every way at evenly spaced checkpoints."""
    training, scores = Training(recipe), []
    at = {round(recipe.steps * part / CHECKPOINTS) for part in range(1, CHECKPOINTS + 1)}
    while not training.ended:
        training.step()
        if training.taken in at:
            model = toys.toy_model(recipe.model, training.look().weights)
            scores.append(planted_scores(model, training.held_out.solved[:sources], USUAL, step=training.taken))
    return scores


def main(name: str, seeds: int, sources: int) -> bool:
    """Print each seed's ranking, the mean and spread over seeds, and how far any two of them agree."""
    torch.set_num_threads(1)
    rankings = []
    for seed in range(1, seeds + 1):
        begun = time.perf_counter()
        scores = scored(replace(preset(name).recipe, seed=seed), sources)
        rankings.append(ranking(scores))
        message = ", ".join(f"{way} {far:.3f}" for way, far in rankings[-1].items())
        right = " ".join(f"{each.accuracy:.2f}" for each in scores)
        print(f"{name} seed {seed} ({time.perf_counter() - begun:.0f} s; right {right}): {message}", flush=True)
    for way, (mean, spread) in over_seeds(rankings).items():
        print(f"| {way} | {mean:.3f} | {spread:.3f} |", flush=True)
    least = min(agreement(rankings), default=1.0)
    print(f"{name}: least Kendall τ between two of {seeds} seeds {least:.2f} (bar {STABLE})", flush=True)
    return least >= STABLE


if __name__ == "__main__":
    toy, *counts = sys.argv[1:] or ["toy-transformer"]
    n_seeds, n_sources = (int(counts[at]) if len(counts) > at else usual for at, usual in enumerate((5, 16)))
    sys.exit(0 if main(toy, n_seeds, n_sources) else 1)
