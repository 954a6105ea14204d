"""Ways, held against a truth that is known: an untrained model knows nothing of it, and a distance is what it says."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.analysis.matters import PlantedScores, describe_ranking, distance, ranking
from attnviz.attribution import dataset
from attnviz.attribution.dataset import planted_scores
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import ModelError
from attnviz.figures.train import planted_table
from attnviz.models import toy_model as toys
from attnviz.models.toy_config import ToyConfig
from attnviz.models.toy_model import untrained_toy
from attnviz.text.toy_tasks import TOYS
from benchmarks.bench_planted import agreement, over_seeds


def scores(step: int, **distances: float) -> PlantedScores:
    return PlantedScores(step, distances, 0.5, {})


def test_what_lies_beside_the_true_places_is_the_distance():
    assert distance(np.array([3.0, 1.0, -9.0]), {0, 2}) == 0.25
    assert distance(np.zeros(3), {1}) == 1


def test_a_ranking_averages_over_checkpoints_and_seeds_may_disagree():
    first = ranking([scores(1, rollout=0.5, attention=0.25), scores(2, rollout=0.25, attention=0.25)])
    assert first == {"attention": 0.25, "rollout": 0.375}
    assert agreement([first, {"rollout": 0.1, "attention": 0.2}]) == [-1]


def test_a_method_that_one_checkpoint_refuses_is_not_averaged_and_says_why():
    first = PlantedScores(1, {"rollout": 0.5}, 0.5, {"integrated-gradients": "They do not add up."})
    both = [first, scores(2, rollout=0.25, **{"integrated-gradients": 0.125})]
    assert ranking(both) == {"rollout": 0.375}
    drawn = planted_table(both, {"rollout": "Rollout", "integrated-gradients": "Integrated gradients"})
    assert "<b>Integrated gradients</b>: They do not add up." in drawn


def test_the_nearest_method_and_its_distance_stand_out():
    said = describe_ranking([scores(1, rollout=0.25, random=0.75)], {"rollout": "Rollout", "random": "Chance"})
    assert [part.text for part in said if part.strong] == ["Rollout", "0.25"]


def test_seeds_are_told_by_their_mean_and_their_spread():
    got = over_seeds([{"rollout": 0.6, "attention": 0.25}, {"attention": 0.75, "rollout": 0.6}])
    assert list(got) == ["attention", "rollout"]
    np.testing.assert_allclose(list(got.values()), [(0.5, 0.125**0.5), (0.6, 0)], atol=1e-9)
    assert over_seeds([{"attention": 0.25}]) == {"attention": (0.25, 0)}


@pytest.mark.parametrize(("task", "kind"), [("numbers", "transformer"), ("reverse", "dot")])
def test_every_way_is_scored_or_says_why_not(task, kind):
    config = ToyConfig(task, kind, dim=16)
    torch.manual_seed(7)
    model = toys.toy_model(config, untrained_toy(config).state_dict())
    solved = [TOYS[task].solve("forty two" if task == "numbers" else "abc")]
    names = ("attention", "frozen-gradient", "gradient-input", "leave-one-out", "random")
    got = planted_scores(model, solved, [METHODS[name] for name in names], step=3)
    assert set(got.distances) | set(got.refused) == set(names)
    assert set(got.refused) == ({"frozen-gradient"} if kind == "dot" else set())
    assert all(0 <= far <= 1 for far in got.distances.values())
    assert (got.step, got.accuracy) == (3, 0)


def test_distances_are_means_over_tokens_with_a_source_and_methods_that_apply(monkeypatch, unchecked):
    bound, shares = [], {"Ab": [1.0, 0.0], "B": [0.0, 4.0], "cd": [1.0, 1.0]}

    def bind(_, prompt, target):
        bound.append((prompt.text, prompt.target, target))
        return prompt.target

    class Fixed:
        def __init__(self, name: str, refuses: str = "") -> None:
            self.name, self.refuses, self.calls = name, refuses, 0

        def compute(self, target):
            self.calls += 1
            if target == self.refuses:
                raise ModelError("It does not apply.")
            return SimpleNamespace(values=np.array(shares[target]))

    model: Any = SimpleNamespace(
        translate=lambda text: [SimpleNamespace(pieces=text.upper())], forced={"Ab": "A BC", "B": "b", "cd": "cd"}.get
    )
    monkeypatch.setattr(dataset, "bind_target", bind)
    solved: Any = [
        SimpleNamespace(source=("a", "bc"), target=("A", "b"), possible=[{0}, set(), {1}]),
        SimpleNamespace(source=("a", " ", "b"), target=("B",), possible=[{1}]),
        SimpleNamespace(source=("a", "b"), target=("c", "d"), possible=[set(), {0}]),
    ]
    methods: Any = [Fixed("all"), Fixed("some", "B")]
    got = planted_scores(model, solved, methods, step=5)
    assert [(text, target, part.kind, part.place) for text, target, part in bound] == [
        ("a bc", "Ab", "token", 0), ("a bc", "Ab", "token", 2), ("a b", "B", "token", 0), ("ab", "cd", "token", 1),
    ]  # fmt: skip
    assert got.distances == {"all": pytest.approx(np.mean([0, 1, 0, 0.5]))}
    assert (got.step, got.accuracy, got.refused) == (5, pytest.approx(1 / 3), {"some": "It does not apply."})
    assert [method.calls for method in methods] == [4, 3]
