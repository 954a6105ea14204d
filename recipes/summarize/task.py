"""Training attention to select: what a token receives becomes the probability that a summary keeps it; a sentence, too."""

import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.nn.encoder import BlockConfig, Summarizer, SummarizerConfig, received
from recipes.loop import Run, write_whole
from recipes.schedule import Schedule, precision
from recipes.summarize.abstracts import AbstractBatch, AbstractExample, collate, examples, read_abstracts
from recipes.task import RunProgress

STATES = "states.pt"
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
        """Write the recipe as it is saved beside the weights."""
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


def losses(model: nn.Module, batch: AbstractBatch) -> tuple[Float[Tensor, ""], Float[Tensor, ""], Float[Tensor, ""]]:
    """Compute the cross-entropies, in nats, of sentences (last layer), of words (first layer), and of the logits."""
    logits, weights = model(batch.states, batch.numbers, visible=batch.real)
    words, sentences = (received(layer.float(), batch.typed) * batch.typed for layer in (weights[0], weights[-1]))
    shares = torch.zeros_like(batch.target).scatter_add_(1, batch.numbers, sentences)
    shares = shares / shares.sum(dim=1, keepdim=True)
    of_sentences = -(batch.target * (shares + 1e-8).log()).sum(dim=1).mean()
    # Among words alone: how much goes to punctuation and special tokens is the layer's own business.
    words = words * batch.content
    words = words / words.sum(dim=1, keepdim=True).clamp(min=1e-8)
    has_summary = batch.importance.sum(dim=1) > 0
    importance = batch.importance / batch.importance.sum(dim=1, keepdim=True).clamp(min=1e-8)
    of_words = -(importance * (words + 1e-8).log()).sum(dim=1)[has_summary].sum() / has_summary.sum().clamp(min=1)
    of_labels = F.cross_entropy(logits.float()[batch.content], (batch.importance[batch.content] > 0).long())
    return of_sentences, of_words, of_labels


@dataclass(frozen=True, eq=False)
class Selecting:
    """Abstracts to learn from, and abstracts to choose the best epoch by."""

    recipe: SelectorRecipe
    data: Sequence[AbstractExample]
    held_out: Sequence[AbstractExample] = ()

    @property
    def n_examples(self) -> int:
        """Count the abstracts there are."""
        return len(self.data)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW over all of it: the encoder has read the abstracts before, and is no part of the model."""
        return torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)

    def batches(self, epoch: int) -> list[list[AbstractExample]]:
        """Deal out one pass: shuffled, then sorted by length within runs of eight batches, so that little is padding."""
        size, generator = self.recipe.schedule.batch, random.Random(self.recipe.schedule.seed * 1000 + epoch)
        drawn = generator.sample(self.data, len(self.data))
        runs = [drawn[start : start + 8 * size] for start in range(0, len(drawn), 8 * size)]
        ordered = [row for run in runs for row in sorted(run, key=lambda row: len(row.numbers))]
        batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        generator.shuffle(batches)
        return batches

    def loss(
        self, model: nn.Module, batch: list[AbstractExample], place: RunProgress
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Sum the cross-entropies of sentences and words, and the weighted one of the logits, in nats."""
        device = next(model.parameters()).device
        with precision(self.recipe.schedule, device):
            sentences, words, labels = losses(model, collate(batch).to(device))
        loss = sentences + words + self.recipe.labels * labels
        return loss, loss

    def development(self, model: nn.Module) -> float:
        """Compute the same loss on the abstracts held out."""
        size, ordered = self.recipe.schedule.batch, sorted(self.held_out, key=lambda row: len(row.numbers))
        batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
        total = sum(float(self.loss(model, batch, RunProgress())[0]) * len(batch) for batch in batches)
        return total / max(1, len(ordered))


def training_examples(
    recipe: SelectorRecipe, data: Path, folder: Path, report: Callable[[object], None]
) -> list[AbstractExample]:
    """Read what the run learns from. The encoder is frozen: it reads every abstract once, and `folder` keeps its states."""
    path = folder / STATES
    if not path.is_file():
        abstracts = read_abstracts(data, f"{recipe.corpus}.train")
        rows = examples(abstracts, minilm(silent), recipe.temperature, report)
        write_whole([{field: getattr(row, field) for field in AbstractExample.__dataclass_fields__} for row in rows], path)
    return [AbstractExample(**row) for row in torch.load(path, weights_only=True)]


def train_selector(recipe: SelectorRecipe, data: Path, folder: Path, report: Callable[[object], None]) -> Run:
    """Train by a recipe, or go on where a killed run in `folder` stopped.

    Raises:
        DataError: `data` lacks what the recipe reads, or the folder holds a run of another recipe.
    """
    rows = training_examples(recipe, data, folder, report)
    torch.manual_seed(recipe.schedule.seed)
    model = Summarizer(recipe.model).to("cuda" if torch.cuda.is_available() else "cpu")
    run = Run(recipe, model, Selecting(recipe, rows[recipe.held_out :], rows[: recipe.held_out]), folder)
    run.train(report)
    return run
