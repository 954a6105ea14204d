"""A language of numbers and its French, small enough to be learned in seconds."""

import gzip
import random
from pathlib import Path

import pytest
import torch

from attnviz.nn.lstm_translator import RecurrentConfig
from recipes.schedule import Schedule
from recipes.translate.recipe import Corpus, LSTMSpec, Recipe

WORDS = {"one": "un", "two": "deux", "three": "trois", "four": "quatre", "five": "cinq", "six": "six", "seven": "sept"}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sentences(n: int, seed: int) -> list[tuple[str, str]]:
    generator = random.Random(seed)
    rows = [generator.choices(list(WORDS), k=generator.randint(2, 5)) for _ in range(n)]
    return [(" ".join(row) + ".", " ".join(WORDS[word] for word in row) + " !") for row in rows]


def write(folder: Path, name: str, rows: list[tuple[str, ...]]) -> None:
    with gzip.open(folder / f"{name}.tsv.gz", "wt", encoding="utf-8") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder as `python -m recipes` wants it, and links for its development pairs: word n is word n."""
    folder = tmp_path_factory.mktemp("data")
    write(folder, "tatoeba-en-fr.train", sentences(173, 1))
    development = sentences(23, 2)
    write(folder, "tatoeba-en-fr.dev", development)
    linked = []
    for source, target in development:
        words = [*source[:-1].split(), "."], target.split()
        links = " ".join(f"{index}-{index}" for index in range(1, len(words[1]) + 1))
        linked.append((" ".join(words[0]), " ".join(words[1]), links, source, target))
    write(folder, "tatoeba-en-fr.dev.links", linked)
    return folder


@pytest.fixture(scope="session")
def recipe():
    """A tiny Bahdanau model, trained for two epochs in under a second."""
    return Recipe(
        "tiny",
        "made for a test",
        "https://arxiv.org/abs/1409.0473",
        LSTMSpec("additive", RecurrentConfig(dim=11, hidden=13, dropout=0.1)),
        Corpus(n_pieces=(61, 59)),
        Schedule(epochs=2, batch=17, warmup=5, average=0.9, learning_rate=1e-2, precision="float32"),
    )
