"""Translation as a task: sentence pairs, cross-entropy, and a head that may be told where to look."""

import dataclasses
import random
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.training.batches import TranslationBatch
from attnviz.training.loss import cross_entropy
from attnviz.training.schedule import precision
from recipes.sentence_pairs import EncodedPair, all_batches, deal, draw
from recipes.task import RunProgress
from recipes.translate.joined import join
from recipes.translate.recipe import Recipe
from recipes.translate.supervised_head import PieceLinks, alignment_loss, linked_rows

# A batch, and the links of its epoch's pairs.
LinkedBatch = tuple[TranslationBatch, PieceLinks]


@dataclasses.dataclass(frozen=True, eq=False)
class Translating:
    """Pairs to learn from, and pairs to choose the best epoch by; `links` where the recipe tells a head to align."""

    recipe: Recipe
    pairs: Sequence[EncodedPair]
    held_out: Sequence[EncodedPair] = ()
    links: PieceLinks = dataclasses.field(default_factory=dict)

    @property
    def n_examples(self) -> int:
        """Count the sentences, each with all its translations."""
        return len(self.pairs)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """Adam as in Vaswani et al. 2017, section 5.3."""
        return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)

    def batches(self, epoch: int) -> list[LinkedBatch]:
        """Deal out every sentence once, with one of its translations, some of them in a row where the recipe says so."""
        schedule, how = self.recipe.schedule, self.recipe.joined
        generator = random.Random(schedule.seed * 1000 + epoch)
        rows, links = draw(self.pairs, generator), self.links
        if how and epoch >= how.since:
            rows, more = join(rows, how, links, generator)
            links = {**links, **more}
        return [(batch, links) for batch in deal(rows, schedule.batch, generator)]

    def loss(self, model: nn.Module, batch: LinkedBatch, place: RunProgress) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Compute the cross-entropy of the translation, with that of the supervised head added, and the former alone."""
        schedule, supervised = self.recipe.schedule, self.recipe.supervised_head
        device = next(model.parameters()).device
        head = supervised if supervised and place.epoch >= supervised.since else None
        pairs, links = batch
        rows = linked_rows(pairs, links).to(device) if head else None
        pairs = TranslationBatch(*(getattr(pairs, field.name).to(device) for field in dataclasses.fields(pairs)))
        with precision(schedule, device):
            scores, attention = model(pairs.source, pairs.inputs, schedule.teacher_forcing)
        loss = cross_entropy(scores, pairs.labels, schedule.label_smoothing)
        if not head or rows is None:
            return loss, loss
        weights = attention.cross[head.layer][:, head.head]
        return loss + head.weight * alignment_loss(weights, rows), loss

    def development(self, model: nn.Module) -> float:
        """Cross-entropy a token, in nats, without smoothing; over texts in a row too where the recipe has them, from the first
        epoch on, so that epochs before and after they begin are judged alike."""
        how, generator = self.recipe.joined, random.Random(self.recipe.schedule.seed)
        if not how:
            return development_loss(model, self.held_out)
        rows, _ = join(draw(self.held_out, generator), dataclasses.replace(how, share=1.0), {}, generator)
        return development_loss(model, [*self.held_out, *(EncodedPair(source, (target,)) for source, target in rows)])


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
