"""From a recipe's name and a folder of data to trained weights: what `attnviz train` does."""

from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer

from attnviz.core import disk
from recipes.loop import Run, TrainingReport
from recipes.sentence_pairs import EncodedPair, Tokenizers, encode_pairs, read_pairs
from recipes.translate.recipe import Corpus, Recipe
from recipes.translate.supervised_head import read_piece_links
from recipes.translate.task import Translating

SOURCE, TARGET = "source.json", "target.json"


def tokenizers_of(corpus: Corpus, data: Path, folder: Path) -> Tokenizers:
    """Load the tokenizers that a run keeps in its folder, or train them when there are none yet."""
    paths = folder / SOURCE, folder / TARGET
    if not all(path.is_file() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        trained = Tokenizers.trained(read_pairs(data, f"{corpus.name}.train"), corpus.languages, corpus.n_pieces)
        for tokenizer, path in zip((trained.source, trained.target), paths, strict=True):
            disk.write(path, tokenizer.to_str())
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
