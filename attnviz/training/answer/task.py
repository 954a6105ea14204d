"""Answering as a task: questions on cropped passages, some of which do not answer, and the loss of start and end."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.models.answer.base import SpanDecoding
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import silent
from attnviz.models.hub.minilm import minilm
from attnviz.models.shipped import load_trained_as
from attnviz.nn.qa import Answerer, AnswererConfig
from attnviz.paths import assets_folder
from attnviz.text.spans import best_spans
from attnviz.training.answer.initial_weights import LAYERS, begin, depth_of
from attnviz.training.answer.questions import (
    EncodedQuestion,
    QuestionBatch,
    QuestionExample,
    collate,
    crop,
    encode_questions,
    in_batches,
    part,
    plain_question,
    read_questions,
)
from attnviz.training.answer.recipe import AnswerRecipe, Diet
from attnviz.training.answer.unanswered import Kind, OtherPassages
from attnviz.training.loop import Run, TrainingReport, mean
from attnviz.training.schedule import precision
from attnviz.training.task import RunProgress


@dataclass(frozen=True, eq=False)
class Answering:
    """Questions to learn from, and questions held out."""

    recipe: AnswerRecipe
    questions: Sequence[EncodedQuestion]
    held_out: Sequence[EncodedQuestion] = ()

    @property
    def n_examples(self) -> int:
        """Count the questions there are."""
        return len(self.questions)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW; the lower a layer of the encoder, the less it moves (Howard & Ruder 2018, arXiv:1801.06146, section 3.2)."""
        groups: dict[float, list[nn.Parameter]] = {}
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                groups.setdefault(self._scale(name), []).append(parameter)
        settings = [{"params": parameters, "scale": scale} for scale, parameters in groups.items()]
        return torch.optim.AdamW(settings, betas=(0.9, 0.98), weight_decay=0.01, fused=True)

    def _scale(self, name: str) -> float:
        depth = depth_of(name, self.recipe.model)
        return 1.0 if depth is None else self.recipe.encoder * self.recipe.lower ** (LAYERS - 1 - depth)

    def batches(self, epoch: int) -> list[QuestionBatch]:
        """Draw the questions of an epoch's diet, each on a newly cropped passage."""
        schedule, diet = self.recipe.schedule, self._diet(epoch)
        generator = random.Random(schedule.seed * 1000 + epoch)
        pairs = []
        for source, share in diet.shares.items():
            mine, others = self._by_source.get(source, []), self._others.get(source)
            for question in self._served(mine, source, share, epoch):
                pairs.append(self.pair(question, others, diet, generator))
        # An answer of hundreds of words would be a window longer than the encoder reads.
        readable = [pair for pair in pairs if len(pair.context) <= LONGEST]
        return [collate(rows) for rows in in_batches(readable, schedule.batch, generator)]

    @cached_property
    def _by_source(self) -> dict[str, list[EncodedQuestion]]:
        groups: dict[str, list[EncodedQuestion]] = {}
        for question in self.questions:
            groups.setdefault(question.source, []).append(question)
        return groups

    @cached_property
    def _others(self) -> dict[str, OtherPassages]:
        return {source: OtherPassages(questions) for source, questions in self._by_source.items()}

    def _diet(self, epoch: int) -> Diet:
        return max((diet for diet in self.recipe.diets if diet.since <= epoch), key=lambda diet: diet.since)

    def _served(self, mine: Sequence[EncodedQuestion], source: str, share: int, epoch: int) -> list[EncodedQuestion]:
        """This epoch's share of a source: where the last epoch stopped, in an order that is new in every pass."""
        served = 0
        for diet, after in zip(self.recipe.diets, [*self.recipe.diets[1:], None], strict=True):
            until = epoch if after is None else min(epoch, after.since)
            served += max(0, until - diet.since) * diet.shares.get(source, 0)
        served_questions = []
        for place in range(served, served + share) if mine else ():
            turn, index = divmod(place, len(mine))
            served_questions.append(mine[_order(len(mine), self.recipe.schedule.seed + turn)[index]])
        return served_questions

    def pair(
        self, question: EncodedQuestion, others: OtherPassages | None, diet: Diet, generator: random.Random
    ) -> QuestionExample:
        """Pair a question with a part of its passage, or of one that does not answer it, where there is one of that kind."""
        size = generator.randint(*diet.window)
        kinds: list[Kind | None] = [None, *diet.unanswered]
        (kind,) = generator.choices(kinds, [1 - sum(diet.unanswered.values()), *diet.unanswered.values()])
        strange = others.draw(question, kind, generator) if kind and others else None
        if strange is not None:
            return framed(question.question, part(strange, size, generator), -1, -1, self.recipe.model)
        context, start, end = crop(question, size, generator)
        return framed(question.question, context, start, end, self.recipe.model)

    def whole(self) -> dict[str, list[QuestionExample]]:
        """Frame the questions held out, by source, on their whole passages, as far as these can be read."""
        generator = random.Random(0)
        rows: dict[str, list[QuestionExample]] = {}
        for one in self.held_out:
            row = framed(one.question, *crop(one, LONGEST, generator), self.recipe.model)
            rows.setdefault(one.source, []).append(row)
        return rows

    def loss(self, model: nn.Module, batch: QuestionBatch, place: RunProgress) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Mean cross-entropy of start and of end, in nats."""
        drop(model, self.recipe.frozen, self._diet(place.epoch).dropout)
        with precision(self.recipe.schedule, next(model.parameters()).device):
            loss = span_loss(model, batch)
        return loss, loss

    def development(self, model: nn.Module) -> float:
        """1 less the mean F1 of the best spans' tokens: a model that grows too sure has a higher loss and better answers."""
        scores = []
        for row in (row for rows in self.whole().values() for row in rows):
            start, end = (logits[0].float().cpu().numpy() for logits in span_logits(model, collate([row])))
            span = best_spans(start, end, limit=LIMIT, n=1, length_penalty=self.recipe.length_penalty)[0]
            shared = min(span.end, row.end) - max(span.start, row.start) + 1
            scores.append(2 * max(0, shared) / (span.end - span.start + row.end - row.start + 2))
        return 1 - float(np.mean(scores)) if scores else 1.0


# Tokens of a passage that can be read beside a question.
LONGEST = 400
# Tokens of an answer after its first, at most.
LIMIT = SpanDecoding().limit
_ORDERS: dict[tuple[int, int], list[int]] = {}


def _order(n: int, seed: int) -> list[int]:
    if (n, seed) not in _ORDERS:
        _ORDERS[n, seed] = random.Random(seed).sample(range(n), n)
    return _ORDERS[n, seed]


def framed(
    question: tuple[int, ...], context: tuple[int, ...], start: int, end: int, config: AnswererConfig
) -> QuestionExample:
    """Put the special ids around both texts; the passage has its own first one only where it is read alone."""
    first, last = config.special
    shift = 0 if config.joint else 1
    context = (*context, last) if config.joint else (first, *context, last)
    moved = (-1, -1) if start < 0 else (start + shift, end + shift)
    return QuestionExample((first, *question[:64], last), context, *moved)


def span_loss(model: nn.Module, batch: QuestionBatch) -> Float[Tensor, ""]:
    """Average the cross-entropies of start and end over the passage's tokens and "it does not say", whose logit is 0."""
    start, end = span_logits(model, batch)
    losses = []
    for logits, target in ((start, batch.start), (end, batch.end)):
        choices = torch.cat([logits.float(), logits.new_zeros(len(logits), 1)], dim=1)
        wanted = target.to(logits.device)
        losses.append(F.cross_entropy(choices, wanted.where(wanted >= 0, choices.shape[1] - 1)))
    return (losses[0] + losses[1]) / 2


def span_logits(
    model: nn.Module, batch: QuestionBatch
) -> tuple[Float[Tensor, "batch context"], Float[Tensor, "batch context"]]:
    """Compute the start and end logits of a batch, on the model's device."""
    device = next(model.parameters()).device
    start, end, _ = model(
        batch.question.to(device),
        batch.context.to(device),
        question_visible=batch.question_visible.to(device),
        context_visible=batch.context_visible.to(device),
    )
    return start, end


def untrained_answerer(recipe: AnswerRecipe, encoder: Any, base: Answerer | None = None) -> Answerer:
    """Build the model, not yet trained, on an encoder of its own of which the lowest layers are frozen.

    `base` is the answerer whose encoder's weights it begins with.
    """
    # Nobody looks at the weights while they are trained: the fastest attention there is will do.
    encoder.set_attn_implementation("sdpa")
    model = Answerer(recipe.model, encoder)
    if base is not None:
        begin(model, base)
    encoder.requires_grad_(False)
    for depth, layer in enumerate(encoder.encoder.layer):
        layer.requires_grad_(depth >= recipe.frozen)
        # A dropped weight would cost a random number for every pair of tokens, and the crops are noise enough.
        layer.attention.self.dropout.p = 0.0
    encoder.embeddings.dropout.p = 0.0
    return model


def drop(model: Any, frozen: int, share: float) -> None:
    """Let the encoder's layers above the `frozen` ones drop a share of what they add; the frozen ones drop nothing."""
    for depth, layer in enumerate(model.encoder.encoder.layer):
        layer.attention.output.dropout.p = layer.output.dropout.p = share if depth >= frozen else 0.0


def encode_and_hold_out(
    recipe: AnswerRecipe, data: Path, tokenizer: Any
) -> tuple[list[EncodedQuestion], list[EncodedQuestion]]:
    """Tokenize the training files, and hold out the last questions of some sources, on passages of their own."""
    files = [read_questions(data, f"{corpus}.train") for corpus in recipe.corpora]
    encoded = encode_questions([plain_question(question) for questions in files for question in questions], tokenizer)
    held_out = [
        question
        for source, number in recipe.held_out.items()
        for question in [one for one in encoded if one.source == source][-number:]
    ]
    kept = {question.context for question in held_out}
    return [question for question in encoded if question.context not in kept], held_out


def train_answerer(recipe: AnswerRecipe, data: Path, folder: Path | None, report: Callable[[TrainingReport], None]) -> Run:
    """Train by a recipe, or go on where a killed run in `folder` stopped; the weights to keep are the run's `best`.

    Of a recipe with a soup it is the last run, with the mean of all their weights; each has a folder of its own.

    Raises:
        ModelNotFoundError: the model that it begins with has not been trained.
        DataError: `data` lacks what the recipe reads, or the folder holds a run of another recipe.
    """
    base = load_trained_as(AnswerModel, assets_folder() / "models" / recipe.base).answerer if recipe.base else None
    if not recipe.soup:
        return _trained(recipe, base, data, folder, report)
    runs = []
    for seed in recipe.soup:
        one = dataclasses.replace(recipe, soup=(), schedule=dataclasses.replace(recipe.schedule, seed=seed))
        runs.append(_trained(one, base, data, folder and folder / str(seed), report))
    last = runs[-1]
    last.recipe = recipe
    last.best = mean([run.best for run in runs])
    last.progress.seconds = sum(run.progress.seconds for run in runs)
    return last


def _trained(
    recipe: AnswerRecipe, base: Answerer | None, data: Path, folder: Path | None, report: Callable[[TrainingReport], None]
) -> Run:
    """Train one run to its end."""
    encoder = minilm(silent)
    questions, held_out = encode_and_hold_out(recipe, data, encoder.tokenizer)
    torch.manual_seed(recipe.schedule.seed)
    model = untrained_answerer(recipe, encoder.model, base)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    run = Run(recipe, model, Answering(recipe, questions, held_out), folder)
    run.train(report)
    return run
