"""One loop for every recipe: it can be killed at any moment, and goes on as if it had not been."""

import bisect
import dataclasses
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.training.data import Batch, DataError, EncodedPair, all_batches, deal, draw
from attnviz.training.joined import join
from attnviz.training.loss import cross_entropy
from attnviz.training.recipes import Recipe, Schedule
from attnviz.training.told import PieceLinks, alignment_loss, linked_rows

CHECKPOINT = "checkpoint.pt"
# Steps between two reports, and between two checkpoints.
EVERY = 200


@dataclass(frozen=True)
class Report:
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


@dataclass
class Progress:
    """How far a run has come: all of it goes into a checkpoint, beside weights and optimizer."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    seconds: float = 0.0
    best: float = math.inf
    best_epoch: int = 0


def learning_rate(schedule: Schedule, step: int, n_steps: int) -> float:
    """Linear warmup, plateau, linear decay to 0 at the end of every cycle; `step` counts from 0.

    >>> schedule = Schedule(epochs=4, learning_rate=1.0, warmup=4, decay=0.5)
    >>> [learning_rate(schedule, step, 8) for step in (0, 3, 4, 7)]
    [0.25, 1.0, 1.0, 0.25]
    >>> schedule = Schedule(epochs=4, learning_rate=1.0, warmup=0, decay=0.5, restarts=(2,))
    >>> [learning_rate(schedule, step, 8) for step in (1, 3, 4, 7)]
    [1.0, 0.5, 1.0, 0.5]
    """
    turns = [n_steps * epoch // schedule.epochs for epoch in (0, *schedule.restarts, schedule.epochs)]
    cycle = bisect.bisect_right(turns, step, hi=len(turns) - 1)
    start, end = turns[cycle - 1], turns[cycle]
    length = schedule.decay * (end - start)
    falling = (end - step) / length if length else 1.0
    return schedule.learning_rate * min(1.0, (step + 1) / max(1, schedule.warmup), falling)


class Run:
    """One training run: a model, its average, its optimizer and its place in the data.

    `folder` keeps the checkpoint; None keeps nothing. `links` are needed where the recipe tells a head to align.

    Raises:
        DataError: the folder's checkpoint was made by another recipe.
    """

    def __init__(
        self,
        recipe: Recipe,
        model: nn.Module,
        data: Sequence[EncodedPair],
        folder: Path | None = None,
        links: PieceLinks | None = None,
    ) -> None:
        self.recipe, self.model, self.data, self.folder, self.links = recipe, model, data, folder, links or {}
        self._epoch_links: PieceLinks = self.links
        self.average = {name: value.detach().clone() for name, value in model.state_dict().items()}
        self.optimizer = _optimizer(model)
        self.progress = Progress()
        self.best = dict(self.average)
        if folder is not None and (folder / CHECKPOINT).is_file():
            self._load(folder / CHECKPOINT)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def train(self, development: Sequence[EncodedPair], report: Callable[[Report], None]) -> None:
        """Train to the end of the schedule, or until nothing gets better; `best` is then the average after the best epoch."""
        schedule = self.recipe.schedule
        while self.progress.epoch < schedule.epochs:
            self._epoch(report)
            self._end_epoch(development, report)
            if self.progress.epoch - self.progress.best_epoch >= schedule.patience:
                break

    def _epoch(self, report: Callable[[Report], None]) -> None:
        schedule, place = self.recipe.schedule, self.progress
        if place.epoch in schedule.restarts and place.step_in_epoch == 0:
            self._restart()
        batches = self._batches()
        n_steps = len(batches) * schedule.epochs
        self.model.train()
        losses, begun = [], time.monotonic()
        for batch in batches[place.step_in_epoch :]:
            # Epochs of joined sentences have fewer steps than others: the place in the schedule counts in this one's.
            now = len(batches) * place.epoch + place.step_in_epoch
            losses.append(self._step(batch, learning_rate(schedule, now, n_steps)))
            place.step += 1
            place.step_in_epoch += 1
            if place.step % EVERY == 0:
                begun = self._clock(begun)
                self.save()
                report(self._report(n_steps, float(torch.stack(losses).mean())))
                losses = []
        self._clock(begun)
        place.epoch, place.step_in_epoch = place.epoch + 1, 0

    def _restart(self) -> None:
        """Begin a cycle with the best weights so far, and with an optimizer that remembers nothing."""
        self.model.load_state_dict(self.best)
        self.average = {name: value.clone() for name, value in self.best.items()}
        self.optimizer = _optimizer(self.model)

    def _batches(self) -> list[Batch]:
        """What this epoch reads: the seed and the epoch's number decide all of it."""
        schedule, how = self.recipe.schedule, self.recipe.joined
        generator = random.Random(schedule.seed * 1000 + self.progress.epoch)
        rows = draw(self.data, generator)
        if how and self.progress.epoch >= how.since:
            rows, links = join(rows, how, self.links, generator)
            self._epoch_links = {**self.links, **links}
        return deal(rows, schedule.batch, generator)

    def _step(self, batch: Batch, rate: float) -> Float[Tensor, ""]:
        schedule = self.recipe.schedule
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        told = self.recipe.told
        telling = told if told and self.progress.epoch >= told.since else None
        rows = linked_rows(batch, self._epoch_links).to(self.device) if telling else None
        batch = Batch(*(getattr(batch, field.name).to(self.device) for field in dataclasses.fields(batch)))
        with precision(schedule, self.device):
            scores, attention = self.model(batch.source, batch.inputs, schedule.teacher_forcing)
        loss = cross_entropy(scores, batch.labels, schedule.label_smoothing)
        total = loss
        if telling and rows is not None:
            head = attention.cross[telling.layer][:, telling.head]
            total = loss + telling.weight * alignment_loss(head, rows)
        total.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), schedule.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        # Early weights say little: the average forgets them fast at first, and slowly later.
        weight = 1 - min(schedule.average, (1 + self.progress.step) / (10 + self.progress.step))
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                self.average[name].lerp_(value, weight)
        return loss.detach()

    def _end_epoch(self, development: Sequence[EncodedPair], report: Callable[[Report], None]) -> None:
        place = self.progress
        with self.averaged():
            loss = development_loss(self.model, development)
        if loss < place.best:
            place.best, place.best_epoch = loss, place.epoch
            self.best = {name: value.clone() for name, value in self.average.items()}
        per_epoch = place.step // place.epoch
        report(dataclasses.replace(self._report(per_epoch * self.recipe.schedule.epochs, math.nan), development=loss))
        self.save()

    def averaged(self) -> AbstractContextManager[None]:
        """The model with its averaged weights, and then again with its own."""
        return swapped(self.model, self.average)

    def _clock(self, begun: float) -> float:
        now = time.monotonic()
        self.progress.seconds += now - begun
        return now

    def _report(self, n_steps: int, loss: float) -> Report:
        place = self.progress
        left = place.seconds / place.step * (n_steps - place.step)
        return Report(place.epoch, place.step, n_steps, loss, place.seconds, left)

    def save(self) -> None:
        """Write the checkpoint; a kill while it is written leaves the last one whole."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        state: dict[str, Any] = {
            "recipe": self.recipe.as_json(),
            "model": self.model.state_dict(),
            "average": self.average,
            "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "progress": dataclasses.asdict(self.progress),
            "random": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }
        part = self.folder / f"{CHECKPOINT}.part"
        with part.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.folder / CHECKPOINT)

    def _load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        if not _same_so_far(state, self.recipe):
            raise DataError(f"{path} was made by another recipe; move it away, or train as it was begun")
        self.model.load_state_dict(state["model"])
        self.average, self.best = state["average"], state["best"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])
        torch.set_rng_state(state["random"].cpu())
        if state["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([seed.cpu() for seed in state["cuda"]])


@contextmanager
def swapped(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """The model with other weights, evaluated without gradients; afterwards its own are back."""
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


def precision(schedule: Schedule, device: torch.device) -> AbstractContextManager[Any]:
    """Mixed precision where the recipe asks for it and the device has it: products in bfloat16, weights and sums in float32.

    An LSTM in bfloat16 is an error on a processor without AVX-512, and a Transformer slower there than in float32.
    """
    if schedule.precision == "bfloat16" and (device.type != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()


def _optimizer(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)


def development_loss(model: nn.Module, pairs: Sequence[EncodedPair], size: int = 128) -> float:
    """Cross-entropy a token, in nats, over every pair, without smoothing."""
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    for batch in all_batches(pairs, size):
        scores = model(batch.source.to(device), batch.inputs.to(device))[0]
        n_tokens = int((batch.labels != 0).sum())
        total += float(cross_entropy(scores.cpu(), batch.labels)) * n_tokens
        tokens += n_tokens
    return total / max(1, tokens)


def _same_so_far(state: dict[str, Any], recipe: Recipe) -> bool:
    """Whether a checkpoint's recipe decides the same, save what has not begun under either: the decay, which the
    number of epochs decides, and telling a head."""
    before, now = json.loads(state["recipe"]), json.loads(recipe.as_json())
    if any(before[part] != now[part] for part in ("model", "corpus")):
        return False
    epoch = state["progress"]["epoch"]
    for part in ("told", "joined"):
        one, other = before.get(part), now[part]
        if one != other and any(begun and begun["since"] <= epoch for begun in (one, other)):
            return False
    begun, schedule = state["progress"]["epoch"] + 1, now["schedule"]
    epochs = min(before["schedule"]["epochs"], schedule["epochs"])
    if begun <= epochs * (1 - schedule["decay"]):
        return {**before["schedule"], "epochs": epochs} == {**schedule, "epochs": epochs}
    return before["schedule"] == schedule
