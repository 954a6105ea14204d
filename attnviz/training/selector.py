"""Training attention to select: what a token receives becomes the probability that a summary keeps it; a sentence, too."""

import dataclasses
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.models.embedded import minilm
from attnviz.models.hub import silent
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.summarizer import Summarizer, SummarizerConfig, received
from attnviz.training.abstracts import Batch, Example, collate, examples, read_abstracts
from attnviz.training.data import DataError
from attnviz.training.loop import swapped
from attnviz.training.schedule import Schedule, learning_rate, precision

CHECKPOINT, STATES = "checkpoint.pt", "states.pt"
# What the card says of a recipe, and what decides no weight.
_WORDS = ("about", "paper", "weak")
# Steps between two checkpoints.
EVERY = 20
# One pass brings most of what there is to learn; a second brought 1.3 points of ROUGE-1 on held-out abstracts.
SCHEDULE = Schedule(epochs=1, batch=16, learning_rate=1e-3, warmup=50, decay=0.0, average=0.99)


@dataclass(frozen=True)
class SelectorRecipe:
    """What a selector is and how it is trained, on top of the frozen embedded encoder.

    temperature  of the softmax that makes a sentence's target of its ROUGE
    labels       weight of the loss of the logits, which say of each content word whether a reference has it
    held_out     abstracts of the training file that only decide which epoch is best
    """

    name: str
    about: str
    paper: str
    model: SummarizerConfig
    corpus: str = "scitldr"
    schedule: Schedule = SCHEDULE
    temperature: float = 0.1
    labels: float = 0.5
    held_out: int = 192
    weak: tuple[str, ...] = (
        "Anything but abstracts of machine-learning papers, which is all it has learned from: in a news text or a story it "
        "still looks for the sentence in which somebody proposes something.",
        "Texts longer than 512 tokens: the rest is not read.",
        "Saying anything in words of its own: it keeps or leaves out, and kept words alone are no sentence.",
        "Other languages than English.",
    )

    def as_json(self) -> str:
        """The recipe as it is saved beside the weights."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"


RECIPES = {
    recipe.name: recipe
    for recipe in (
        SelectorRecipe(
            "summarize-en",
            "two layers of attention on a frozen encoder, trained so that what they look at is what a summary keeps",
            "https://arxiv.org/abs/2004.15011",
            SummarizerConfig(n_outputs=2, n_layers=2, block=BlockConfig(192, 12, 384, norm="before", dropout=0.0)),
        ),
    )
}


@dataclass
class Progress:
    """How far a run has come."""

    epoch: int = 0
    step_in_epoch: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    best: float = float("inf")
    best_epoch: int = 0


def losses(model: Summarizer, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""]]:
    """The cross-entropies, in nats, of sentences (last layer), of words (first layer), and of the logits."""
    logits, weights = model(batch.states, batch.numbers, visible=batch.real)
    words, sentences = (received(layer.float(), batch.typed) * batch.typed for layer in (weights[0], weights[-1]))
    shares = torch.zeros_like(batch.target).scatter_add_(1, batch.numbers, sentences)
    shares = shares / shares.sum(dim=1, keepdim=True)
    of_sentences = -(batch.target * (shares + 1e-8).log()).sum(dim=1).mean()
    # Among words alone: how much goes to punctuation and special tokens is the layer's own business.
    words = words * batch.content
    words = words / words.sum(dim=1, keepdim=True).clamp(min=1e-8)
    told = batch.wanted.sum(dim=1) > 0
    wanted = batch.wanted / batch.wanted.sum(dim=1, keepdim=True).clamp(min=1e-8)
    of_words = -(wanted * (words + 1e-8).log()).sum(dim=1)[told].sum() / told.sum().clamp(min=1)
    of_labels = F.cross_entropy(logits.float()[batch.content], (batch.wanted[batch.content] > 0).long())
    return of_sentences, of_words, of_labels


class SelectorRun:
    """One training run; `folder` keeps what a killed one needs to go on."""

    def __init__(self, recipe: SelectorRecipe, data: Sequence[Example], folder: Path | None = None) -> None:
        torch.manual_seed(recipe.schedule.seed)
        self.recipe, self.folder, self.model = recipe, folder, Summarizer(recipe.model)
        self.held_out, self.data = list(data[: recipe.held_out]), list(data[recipe.held_out :])
        self.average = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        self.best = dict(self.average)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
        self.progress = Progress()
        if folder is not None and (folder / CHECKPOINT).is_file():
            self._load(folder / CHECKPOINT)

    def train(self, report: Callable[[str], None]) -> None:
        """Train to the end of the schedule; `best` is then the average of the weights after the best epoch."""
        schedule, place = self.recipe.schedule, self.progress
        while place.epoch < schedule.epochs:
            n_batches = self._epoch()
            held = self._held_out_loss()
            place.epoch += 1
            if held < place.best:
                place.best, place.best_epoch = held, place.epoch
                self.best = {name: value.clone() for name, value in self.average.items()}
            report(
                f"epoch {place.epoch}/{schedule.epochs}  train loss {place.loss / n_batches:.4f}  "
                f"held-out loss {held:.4f}  {place.seconds / 60:.1f} min"
            )
            place.step_in_epoch, place.loss = 0, 0.0
            self.save()

    def _epoch(self) -> int:
        """What is left of an epoch; returns how many batches the whole of it has."""
        schedule, place = self.recipe.schedule, self.progress
        batches, begun = self._batches(schedule.seed * 1000 + place.epoch), time.monotonic()
        for rows in batches[place.step_in_epoch :]:
            place.loss += self._step(rows, len(batches) * schedule.epochs)
            place.step_in_epoch += 1
            if place.step_in_epoch % EVERY == 0 or place.step_in_epoch == len(batches):
                place.seconds, begun = place.seconds + time.monotonic() - begun, time.monotonic()
                self.save()
        return len(batches)

    def _batches(self, seed: int) -> list[list[Example]]:
        """One pass: shuffled, then sorted by length within runs of eight batches, so that little is padding."""
        size, generator = self.recipe.schedule.batch, random.Random(seed)
        drawn = generator.sample(self.data, len(self.data))
        runs = [drawn[start : start + 8 * size] for start in range(0, len(drawn), 8 * size)]
        ordered = [row for run in runs for row in sorted(run, key=lambda row: len(row.numbers))]
        batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        generator.shuffle(batches)
        return batches

    def _step(self, rows: Sequence[Example], n_steps: int) -> float:
        schedule, place = self.recipe.schedule, self.progress
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(schedule, place.step, n_steps)
        self.model.train()
        loss = self._loss(rows)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), schedule.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        place.step += 1
        # Early weights say little: the average forgets them fast at first, and slowly later.
        weight = 1 - min(schedule.average, (1 + place.step) / (10 + place.step))
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                self.average[name].lerp_(value, weight)
        return float(loss.detach())

    def _loss(self, rows: Sequence[Example]) -> Float[Tensor, ""]:
        with precision(self.recipe.schedule, torch.device("cpu")):
            sentences, words, labels = losses(self.model, collate(rows))
        return sentences + words + self.recipe.labels * labels

    def _held_out_loss(self) -> float:
        size = self.recipe.schedule.batch
        ordered = sorted(self.held_out, key=lambda row: len(row.numbers))
        with swapped(self.model, self.average):
            found = [(float(self._loss(rows := ordered[at : at + size])), len(rows)) for at in range(0, len(ordered), size)]
        return sum(loss * count for loss, count in found) / max(1, len(ordered))

    def save(self) -> None:
        """Write the checkpoint; a kill while it is written leaves the last one whole."""
        if self.folder is None:
            return
        state: dict[str, Any] = {
            "recipe": self.recipe.as_json(),
            "model": self.model.state_dict(),
            "average": self.average,
            "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "progress": dataclasses.asdict(self.progress),
            "random": torch.get_rng_state(),
        }
        write_whole(state, self.folder / CHECKPOINT)

    def _load(self, path: Path) -> None:
        state = torch.load(path, weights_only=True)
        before, now = (json.loads(text) for text in (state["recipe"], self.recipe.as_json()))
        if any(before[part] != now[part] for part in now if part not in _WORDS):
            raise DataError(f"{path} was made by another recipe; move it away, or train as it was begun")
        self.model.load_state_dict(state["model"])
        self.average, self.best = state["average"], state["best"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])
        torch.set_rng_state(state["random"])


def write_whole(state: Any, path: Path) -> None:
    """Save under another name, then rename: what stands at `path` is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    torch.save(state, part)
    part.replace(path)


def training_examples(recipe: SelectorRecipe, data: Path, folder: Path, report: Callable[[str], None]) -> list[Example]:
    """What the run learns from. The encoder is frozen: it reads every abstract once, and `folder` keeps its states."""
    path = folder / STATES
    if not path.is_file():
        abstracts = read_abstracts(data, f"{recipe.corpus}.train")
        found = examples(abstracts, minilm(silent), recipe.temperature, report)
        write_whole([{field: getattr(row, field) for field in Example.__dataclass_fields__} for row in found], path)
    return [Example(**row) for row in torch.load(path, weights_only=True)]


def train(recipe: SelectorRecipe, data: Path, folder: Path, report: Callable[[str], None]) -> SelectorRun:
    """Train by a recipe, or go on where a killed run in `folder` stopped.

    Raises:
        DataError: `data` lacks what the recipe reads, or the folder holds a run of another recipe.
    """
    run = SelectorRun(recipe, training_examples(recipe, data, folder, report), folder)
    run.train(report)
    return run
