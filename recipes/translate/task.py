"""Translation as a task: sentence pairs, cross-entropy, a head that may be told where to look, and the run that trains it."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor, nn

from attnviz.core import whole_files
from attnviz.models.shipped_translators import SOURCE, TARGET
from attnviz.training.toy_training import TranslationBatch, cross_entropy
from recipes.loop import Run, TrainingReport
from recipes.schedule import precision
from recipes.task import RunProgress
from recipes.translate.joined import join
from recipes.translate.recipe import Corpus, Recipe
from recipes.translate.sentence_pairs import EncodedPair, Tokenizers, all_batches, deal, draw, encode_pairs, read_pairs
from recipes.translate.supervised_head import PieceLinks, alignment_loss, linked_rows, read_piece_links

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


def tokenizers_of(corpus: Corpus, data: Path, folder: Path) -> Tokenizers:
    """Load the tokenizers that a run keeps in its folder, or train them when there are none yet."""
    paths = folder / SOURCE, folder / TARGET
    if not all(path.is_file() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        trained = Tokenizers.trained(read_pairs(data, f"{corpus.name}.train"), corpus.languages, corpus.n_pieces)
        for tokenizer, path in zip((trained.source, trained.target), paths, strict=True):
            whole_files.write(path, tokenizer.to_str())
    source, target = (Tokenizer.from_file(str(path)) for path in paths)
    return Tokenizers(source, target)


def encode_split(corpus: Corpus, data: Path, tokenizers: Tokenizers, split: str) -> list[EncodedPair]:
    """Read one split of a corpus as ids."""
    return encode_pairs(read_pairs(data, f"{corpus.name}.{split}"), tokenizers, corpus.longest)


def train_translator(recipe: Recipe, data: Path, folder: Path, report: Callable[[TrainingReport], None]) -> Run:
    """Train by a recipe, or go on where a killed run in `folder` stopped; the weights to keep are the run's `best`.

    Raises:
        DataError: `data` lacks what the recipe reads, or the folder holds a run of another recipe.
    """
    tokenizers = tokenizers_of(recipe.corpus, data, folder)
    torch.manual_seed(recipe.schedule.seed)
    model = recipe.model.untrained_model(tokenizers.source.get_vocab_size(), tokenizers.target.get_vocab_size())
    # Built before it is moved: the same seed gives the same first weights on every device.
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    links = read_piece_links(data, recipe.corpus.name, tokenizers) if recipe.supervised_head else None
    pairs, held_out = (encode_split(recipe.corpus, data, tokenizers, split) for split in ("train", "dev"))
    run = Run(recipe, model, Translating(recipe, pairs, held_out, links or {}), folder)
    run.train(report)
    return run
