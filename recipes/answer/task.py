"""Answering as a task: questions on cropped passages, some of which do not answer, and the loss of start and end."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from attnviz.models.span_decoding import SpanDecoding, best_spans
from attnviz.nn.encoder import Answerer, AnswererConfig
from recipes.answer.initial_weights import begin, depth_of
from recipes.answer.questions import (
    EncodedQuestion,
    QuestionBatch,
    QuestionExample,
    collate,
    crop,
    in_batches,
    part,
)
from recipes.answer.recipe import AnswerRecipe, Diet
from recipes.answer.teacher import soft_loss
from recipes.answer.unanswered import Kind, OtherPassages
from recipes.schedule import lowered, precision
from recipes.task import RunProgress

# Logits of start and of end.
SpanChoices = tuple[Float[Tensor, "batch choice"], Float[Tensor, "batch choice"]]


@dataclass(frozen=True, eq=False)
class Answering:
    """Questions to learn from, and questions held out."""

    recipe: AnswerRecipe
    questions: Sequence[EncodedQuestion]
    held_out: Sequence[EncodedQuestion] = ()
    teacher: nn.Module | None = None

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
        return 1.0 if depth is None else self.recipe.encoder * self.recipe.lower ** (self.recipe.layers - 1 - depth)

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
        """Mean cross-entropy of start and of end, in nats; with a teacher, a share of it is how far its spans are."""
        recipe = self.recipe
        drop(model, recipe.frozen, self._diet(place.epoch).dropout)
        choices = self._choices(model, batch)
        loss = span_loss(choices, batch)
        if self.teacher is None:
            return loss, loss
        with torch.no_grad():
            taught = self._choices(self.teacher, batch)
        soft = (soft_loss(choices[0], taught[0]) + soft_loss(choices[1], taught[1])) / 2
        return (1 - recipe.soft) * loss + recipe.soft * soft, loss

    def _choices(self, model: nn.Module, batch: QuestionBatch) -> SpanChoices:
        """Compute what a model, or its teacher, says of a batch, as fast as the machine does it."""
        device = next(model.parameters()).device
        with precision(self.recipe.schedule, device):
            return span_choices(lowered(self.recipe.schedule, model), batch, device)

    def development(self, model: nn.Module) -> float:
        """1 less the mean F1 of the best spans' tokens: a model that grows too sure has a higher loss and better answers."""
        scores = []
        for row in (row for rows in self.whole().values() for row in rows):
            start, end = (
                logits[0].float().cpu().numpy()
                for logits in span_logits(model, collate([row]), next(model.parameters()).device)
            )
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


def span_choices(model: Callable[..., Any], batch: QuestionBatch, device: torch.device) -> SpanChoices:
    """Compute the logits of start and of end over the passage's tokens and, last, of "it does not say", which is 0."""
    start, end = span_logits(model, batch, device)
    return F.pad(start.float(), (0, 1)), F.pad(end.float(), (0, 1))


def span_loss(choices: SpanChoices, batch: QuestionBatch) -> Float[Tensor, ""]:
    """Average the cross-entropies of start and end."""
    losses = []
    for logits, target in zip(choices, (batch.start, batch.end), strict=True):
        wanted = target.to(logits.device)
        losses.append(F.cross_entropy(logits, wanted.where(wanted >= 0, logits.shape[1] - 1)))
    return (losses[0] + losses[1]) / 2


def span_logits(
    model: Callable[..., Any], batch: QuestionBatch, device: torch.device
) -> tuple[Float[Tensor, "batch context"], Float[Tensor, "batch context"]]:
    """Compute the start and end logits of a batch, on the model's device."""
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
    model = Answerer(recipe.model, encoder)
    if base is not None:
        begin(model, base)
    encoder.requires_grad_(False)
    for depth, layer in enumerate(encoder.encoder.layer):
        layer.requires_grad_(depth >= recipe.frozen)
    encoder.embeddings.dropout.p = 0.0
    drop(model, recipe.frozen, 0.0)
    return model


def drop(model: Any, frozen: int, share: float) -> None:
    """Let the encoder's layers above the `frozen` ones drop a share of what they add; the frozen ones drop nothing.

    Of its attention weights nobody drops one: it would cost a random number for every pair of tokens, and the crops are noise
    enough.
    """
    for depth, layer in enumerate(model.encoder.encoder.layer):
        for name, module in layer.named_modules():
            if isinstance(module, nn.Dropout):
                weights = name in ("attention.self.dropout", "attention.attn.dropout")
                module.p = share if depth >= frozen and not weights else 0.0
