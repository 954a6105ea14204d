"""One loop for every recipe: it can be killed at any moment, and goes on as if it had not been."""

import dataclasses
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.core import whole_files
from recipes.data import DataError
from recipes.schedule import learning_rate
from recipes.task import RunProgress, Task, TaskRecipe

CHECKPOINT = "checkpoint.pt"
# Steps between two reports, and between two checkpoints.
EVERY = 200
# What a card says of a recipe, and what becomes of a run that has ended: neither decides how it goes.
_WORDS = ("name", "about", "paper", "weak", "noted", "alpha")
# Parts of a recipe that begin with an epoch of their own, `since`.
_LATER = ("supervised_head", "joined", "diets")


@dataclass(frozen=True)
class TrainingReport:
    """Where a run stands: the mean training loss since the last report, or the development loss at the end of an epoch."""

    epoch: int
    step: int
    n_steps: int
    loss: float
    seconds: float
    left: float
    development: float | None = None

    def __str__(self) -> str:
        kind = "dev" if self.development is not None else "train"
        value = self.loss if self.development is None else self.development
        done = self.step / self.n_steps
        return (
            f"epoch {self.epoch}  step {self.step}/{self.n_steps} ({done:.0%})  {kind} loss {value:.4f}  "
            f"{self.seconds / 60:.1f} min, {self.left / 60:.1f} left"
        )


class Run:
    """One training run: a model, its average, its optimizer and its place in the data.

    `folder` keeps the checkpoint; None keeps nothing.

    Raises:
        DataError: the folder's checkpoint was made by another recipe.
    """

    def __init__(self, recipe: TaskRecipe, model: nn.Module, task: Task, folder: Path | None = None) -> None:
        self.recipe, self.model, self.task, self.folder = recipe, model, task, folder
        self.average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        # What is frozen is its own average.
        frozen = {name for name, value in model.named_parameters() if not value.requires_grad}
        self.moving = [name for name, value in self.average.items() if name not in frozen and value.is_floating_point()]
        # All of it follows from the seed: what is resumed must be what was interrupted.
        self.optimizer = task.optimizer(model)
        self.progress = RunProgress()
        self.best = dict(self.average)
        self.ends: dict[int, dict[str, Tensor]] = {}
        if folder is not None and (folder / CHECKPOINT).is_file():
            self._load(folder / CHECKPOINT)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def train(self, report: Callable[[TrainingReport], None]) -> None:
        """Train to the end of the schedule, or until nothing gets better; `best` is then the average after the best epoch."""
        schedule = self.recipe.schedule
        while self.progress.epoch < schedule.epochs:
            n_batches = self._epoch(report)
            self._end_epoch(n_batches, report)
            if self.progress.epoch - self.progress.best_epoch >= schedule.patience:
                break

    def _epoch(self, report: Callable[[TrainingReport], None]) -> int:
        """Train what is left of an epoch, and return how many batches the whole of it has."""
        schedule, place = self.recipe.schedule, self.progress
        if place.epoch in schedule.restarts and place.step_in_epoch == 0:
            self._restart()
        batches = self.task.batches(place.epoch)
        n_steps = len(batches) * schedule.epochs
        self.model.train()
        losses, begun = [], time.monotonic()
        for batch in batches[place.step_in_epoch :]:
            # Epochs may differ in length, and the rate must not jump where one ends: it follows the share of the run.
            losses.append(self._step(batch, learning_rate(schedule, place.epoch * len(batches) + place.step_in_epoch, n_steps)))
            place.step += 1
            place.step_in_epoch += 1
            if place.step % EVERY == 0:
                begun = self._clock(begun)
                self.save()
                report(self._report(len(batches), float(torch.stack(losses).mean())))
                losses = []
        self._clock(begun)
        place.epoch, place.step_in_epoch = place.epoch + 1, 0
        return len(batches)

    def _restart(self) -> None:
        """Begin a cycle with the best weights so far, and with an optimizer that remembers nothing."""
        self.model.load_state_dict(self.best)
        self.average = {name: value.clone() for name, value in self.best.items()}
        self.optimizer = self.task.optimizer(self.model)

    def _step(self, batch: Any, rate: float) -> Float[Tensor, ""]:
        schedule = self.recipe.schedule
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group.get("scale", 1.0)
        total, loss = self.task.loss(self.model, batch, self.progress)
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), schedule.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        # Early weights say little: the average forgets them fast at first, and slowly later.
        weight = 1 - min(schedule.average, (1 + self.progress.step) / (10 + self.progress.step))
        with torch.no_grad():
            own = self.model.state_dict()
            for name in self.moving:
                self.average[name].lerp_(own[name], weight)
        return loss.detach()

    def _end_epoch(self, n_batches: int, report: Callable[[TrainingReport], None]) -> None:
        place = self.progress
        with self.averaged():
            loss = self.task.development(self.model)
        schedule = self.recipe.schedule
        if schedule.kept or loss < place.best:
            place.best, place.best_epoch = loss, place.epoch
            self.best = {name: value.clone() for name, value in self.average.items()}
        if place.epoch in schedule.kept:
            self.ends[place.epoch] = self.best
        if self.ends and place.epoch == schedule.epochs:
            self.best = _mean(list(self.ends.values()))
        report(dataclasses.replace(self._report(n_batches, math.nan), development=loss))
        self.save()

    def averaged(self) -> AbstractContextManager[None]:
        """Lend the model its averaged weights."""
        return swapped(self.model, self.average)

    def _clock(self, begun: float) -> float:
        now = time.monotonic()
        self.progress.seconds += now - begun
        return now

    def _report(self, n_batches: int, loss: float) -> TrainingReport:
        place = self.progress
        left = n_batches * (self.recipe.schedule.epochs - place.epoch) - place.step_in_epoch
        return TrainingReport(
            place.epoch, place.step, place.step + left, loss, place.seconds, place.seconds / place.step * left
        )

    def save(self) -> None:
        """Write the checkpoint."""
        if self.folder is None:
            return
        state: dict[str, Any] = {
            "recipe": self.recipe.as_json(),
            "model": self.model.state_dict(),
            "average": self.average,
            "best": self.best,
            "ends": self.ends,
            "optimizer": self.optimizer.state_dict(),
            "progress": dataclasses.asdict(self.progress),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        write_whole(state, self.folder / CHECKPOINT)

    def _load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        if not _same_so_far(state, self.recipe):
            raise DataError(f"{path} was made by another recipe; move it away, or train as it was begun")
        self.model.load_state_dict(state["model"])
        self.average, self.best, self.ends = state["average"], state["best"], state.get("ends", {})
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = RunProgress(**state["progress"])
        torch.set_rng_state(state["random"].cpu())
        if state["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([seed.cpu() for seed in state["cuda"]])


def _mean(several: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Average several models' weights; what is no fraction, such as a count, is the last one's."""
    return {
        name: torch.stack([each[name] for each in several]).mean(dim=0) if value.is_floating_point() else value
        for name, value in several[-1].items()
    }


def write_whole(state: Any, path: Path) -> None:
    """Save what torch can save; what stands at `path` is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_files.replacing(path) as file:
        torch.save(state, file)


@contextmanager
def swapped(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Lend the model other weights, to be evaluated without gradients; afterwards its own are back."""
    own = {name: value.clone() for name, value in model.state_dict().items()}
    training = model.training
    model.load_state_dict(weights)
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.load_state_dict(own)
        model.train(training)


def _same_so_far(state: dict[str, Any], recipe: TaskRecipe) -> bool:
    """Check that a checkpoint's recipe decides the same, save what has not begun under either: the decay, which the
    number of epochs decides, and parts that have an epoch of their own."""
    before, now = json.loads(state["recipe"]), json.loads(recipe.as_json())
    if any(before.get(part) != now[part] for part in now if part not in (*_WORDS, *_LATER, "schedule")):
        return False
    epoch = state["progress"]["epoch"]
    for part in _LATER:
        if _begun(before.get(part), epoch) != _begun(now.get(part), epoch):
            return False
    begun, schedule = epoch + (state["progress"]["step_in_epoch"] > 0), now["schedule"]
    epochs = min(before["schedule"]["epochs"], schedule["epochs"])
    cycle = max((turn for turn in schedule["restarts"] if turn <= epoch), default=0)
    if begun <= cycle + (epochs - cycle) * (1 - schedule["decay"]):
        return {**before["schedule"], "epochs": epochs} == {**schedule, "epochs": epochs}
    return before["schedule"] == schedule


def _begun(part: Any, epoch: int) -> list[Any]:
    """Keep, of a part of a recipe or of several, those that have begun in an epoch."""
    several = part if isinstance(part, list) else [part]
    return [each for each in several if each and each["since"] <= epoch]
