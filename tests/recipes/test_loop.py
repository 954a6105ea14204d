"""The training loop: what it learns, what a seed decides, and that a killed run goes on as if it had not been killed."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from recipes.data import DataError
from recipes.loop import CHECKPOINT, Run, TrainingReport, swapped
from recipes.translate.task import Translating, train_translator

KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
sys.path.insert(0, {tests!r})
from recipes import loop
from recipes.translate import task
from tests.recipes import conftest

def stop(report):
    print(report.step, flush=True)
    if report.step >= {step}:
        os.kill(os.getpid(), signal.SIGKILL)

loop.EVERY = 7
task.train_translator(conftest.recipe.__wrapped__(), Path({data!r}), Path({folder!r}), stop)
"""


@pytest.fixture(autouse=True, scope="module")
def _reports_often():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recipes.loop.EVERY", 7)
        yield


def train(recipe, data, folder) -> tuple[dict[str, torch.Tensor], list[TrainingReport]]:
    reports: list[TrainingReport] = []
    return train_translator(recipe, data, folder, reports.append).best, reports


class StopError(Exception):
    """A run is stopped between two checkpoints."""


@pytest.fixture(scope="module")
def whole(recipe, data, tmp_path_factory):
    """The folder of a run that nobody stopped, its weights and its reports."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, *train(recipe, data, folder)


@pytest.fixture
def ended(whole, tmp_path):
    """A folder of its own with that run in it."""
    return shutil.copytree(whole[0], tmp_path / "ended")


def assert_same(got, want):
    assert got.keys() == want.keys()
    for name, value in want.items():
        assert torch.equal(got[name], value), name


def test_it_learns(recipe, data, tmp_path):
    longer = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, epochs=6))
    weights, reports = train(longer, data, tmp_path)
    losses = [report.development for report in reports if report.development is not None]
    assert len(losses) == 6
    assert losses[-1] < 0.5 * losses[0]
    assert all(value.isfinite().all() for value in weights.values())


def test_a_seed_reproduces_and_another_does_not(recipe, data, whole, tmp_path):
    assert_same(train(recipe, data, tmp_path / "b")[0], whole[1])
    other = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, seed=5))
    assert not torch.equal(train(other, data, tmp_path / "c")[0]["tokens.weight"], whole[1]["tokens.weight"])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system cannot kill like this")
def test_a_killed_run_ends_with_the_weights_of_one_that_was_not(recipe, data, whole, tmp_path):
    """It is killed in the first epoch, and what goes on is stopped in the second."""
    _, want, reports = whole
    n_steps = reports[-1].step // recipe.schedule.epochs
    script = KILLED.format(tests=str(Path(__file__).parents[2]), step=7, data=str(data), folder=str(tmp_path))
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert int(killed.stdout.split()[-1]) < n_steps

    def stop(report):
        assert report.step > 7
        if report.step > n_steps and report.development is None:
            raise StopError

    with pytest.raises(StopError):
        train_translator(recipe, data, tmp_path, stop)
    got, after = train(recipe, data, tmp_path)
    assert_same(got, want)
    known = {report.step: report.loss for report in reports if report.development is None}
    assert after[0].step > n_steps
    assert all(known[report.step] == pytest.approx(report.loss) for report in after if report.development is None)


def test_a_run_that_is_over_stays_so(recipe, data, whole, ended):
    got, reports = train(recipe, data, ended)
    assert_same(got, whole[1])
    assert reports == []


@pytest.mark.parametrize(("epochs", "restarts"), [(2, ()), (3, (1,))], ids=["first cycle", "last cycle"])
def test_a_run_can_be_made_longer_before_its_decay(recipe, data, tmp_path, epochs, restarts):
    """The plateau does not depend on the end: the first epoch of a cycle of 2 and of one of 3 are the same."""

    def plan(epochs):
        schedule = dataclasses.replace(recipe.schedule, epochs=epochs, decay=0.25, restarts=restarts)
        return dataclasses.replace(recipe, schedule=schedule)

    want, _ = train(plan(epochs + 1), data, tmp_path / "whole")

    def stop(report):
        if report.development is not None and report.epoch > max(restarts, default=0):
            raise StopError

    with pytest.raises(StopError):
        train_translator(plan(epochs), data, tmp_path / "grown", stop)
    # The report of an epoch comes before its checkpoint: what is on disk is from before the epoch's end.
    got, _ = train(plan(epochs + 1), data, tmp_path / "grown")
    assert_same(got, want)


def test_another_recipe_does_not_go_on_with_this_run(recipe, data, ended):
    other = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, label_smoothing=0.2))
    with pytest.raises(DataError, match="made by another recipe"):
        train(other, data, ended)


def test_it_stops_when_nothing_gets_better(recipe, data, tmp_path):
    stuck = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, epochs=9, learning_rate=0.0, patience=2))
    _, reports = train(stuck, data, tmp_path)
    assert len([report for report in reports if report.development is not None]) == 3


@pytest.mark.parametrize(("kept", "begun"), [((), 1), ((3,), 2), ((2, 3), 2)])
def test_the_epochs_that_are_kept(recipe, data, tmp_path, monkeypatch, kept, begun):
    """Each epoch is made to look worse than the one before; a new cycle begins with what is kept by then."""
    scores, after = iter((0.1, 0.2, 0.3)), {}

    def score(self, model):
        after[len(after) + 1] = {name: value.clone() for name, value in model.state_dict().items()}
        return next(scores)

    monkeypatch.setattr(Translating, "development", score)
    starts, restart = [], Run._restart
    monkeypatch.setattr(Run, "_restart", lambda self: (starts.append(self.best), restart(self)))
    schedule = dataclasses.replace(recipe.schedule, epochs=3, restarts=(2,), patience=3, kept=kept)
    run = train_translator(dataclasses.replace(recipe, schedule=schedule), data, tmp_path, lambda report: None)
    assert_same(starts[0], after[begun])
    wanted = [after[epoch] for epoch in kept or (1,)]
    for name, value in run.best.items():
        torch.testing.assert_close(value, sum(each[name] for each in wanted) / len(wanted))
    again = train_translator(dataclasses.replace(recipe, schedule=schedule), data, tmp_path, lambda report: None)
    assert_same(again.best, run.best)


def test_a_half_written_checkpoint_is_not_read(recipe, data, whole, ended):
    (ended / f"{CHECKPOINT}.part").write_bytes(b"half")
    assert_same(train(recipe, data, ended)[0], whole[1])


def test_swapped_weights_come_back(recipe):
    model = recipe.model.untrained_model(17, 19).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with swapped(model, {name: torch.zeros_like(value) for name, value in before.items()}):
        assert not model.training
        assert not any(value.any() for value in model.state_dict().values())
    assert model.training
    assert_same(model.state_dict(), before)


def test_a_report_says_how_long_it_will_take():
    report = TrainingReport(1, 250, 1000, 2.5, seconds=60.0, left=180.0)
    assert str(report) == "epoch 1  step 250/1000 (25%)  train loss 2.5000  1.0 min, 3.0 left"
    assert "dev loss 2.1000" in str(dataclasses.replace(report, development=2.1))


def test_a_run_without_a_folder_writes_nothing(recipe, tmp_path, monkeypatch):
    # A file name without a folder would be one in the folder of the process.
    monkeypatch.chdir(tmp_path)
    Run(recipe, recipe.model.untrained_model(17, 19), Translating(recipe, [])).save()
    assert list(tmp_path.iterdir()) == []
    Run(recipe, recipe.model.untrained_model(17, 19), Translating(recipe, []), Path()).save()
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]


def test_a_recipe_is_saved_whole(recipe):
    saved = json.loads(recipe.as_json())
    assert saved["schedule"]["seed"] == 2014
    assert saved["model"]["recurrent"]["hidden"] == 13
