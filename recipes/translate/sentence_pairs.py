"""Sentence pairs for a translator: read, cut into pieces, and dealt out in batches that a seed decides."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from attnviz.training.toy_training import TranslationBatch, collate
from recipes.data import DataError, read_lines
from recipes.translate import bpe


@dataclass(frozen=True)
class Sentence:
    """A sentence and all its translations.

    >>> Sentence("Go.", ("Va !", "Allez !")).translations[1]
    'Allez !'
    """

    text: str
    translations: tuple[str, ...]


def read_pairs(folder: Path, name: str) -> list[Sentence]:
    """Read `name`.tsv.gz of a folder: one pair a line, gathered by sentence in the order of their first pairs.

    Raises:
        DataError: there is no such file, or a line is no pair.
    """
    translations_of: dict[str, list[str]] = {}
    for line, where in read_lines(folder / f"{name}.tsv.gz"):
        text, tab, translation = line.partition("\t")
        if not (tab and text and translation):
            raise DataError(f"{where} is not two texts with a tab between them")
        translations_of.setdefault(text, []).append(translation)
    return [Sentence(text, tuple(translations)) for text, translations in translations_of.items()]


@dataclass(frozen=True)
class Tokenizers:
    """The subwords of a pair of languages."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def trained(
        cls, sentences: Sequence[Sentence], languages: tuple[bpe.Language, bpe.Language], n_pieces: tuple[int, int]
    ) -> "Tokenizers":
        """Learned from a corpus, each language by itself; every text counts once."""
        targets = dict.fromkeys(translation for sentence in sentences for translation in sentence.translations)
        return cls(
            bpe.train_tokenizer((sentence.text for sentence in sentences), languages[0], n_pieces[0]),
            bpe.train_tokenizer(targets, languages[1], n_pieces[1]),
        )


@dataclass(frozen=True)
class EncodedPair:
    """A sentence and its translations as ids, without start or end marks."""

    source: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]


def encode_pairs(sentences: Sequence[Sentence], tokenizers: Tokenizers, longest: int) -> list[EncodedPair]:
    """Tokenize sentence pairs; translations of more than `longest` pieces are left out, and sentences that have no other."""
    sources = tokenizers.source.encode_batch([sentence.text for sentence in sentences])
    targets = iter(tokenizers.target.encode_batch([text for sentence in sentences for text in sentence.translations]))
    encoded = []
    for sentence, source in zip(sentences, sources, strict=True):
        mine = [tuple(next(targets).ids) for _ in sentence.translations]
        short = tuple(ids for ids in mine if 0 < len(ids) <= longest)
        if short and 0 < len(source.ids) <= longest:
            encoded.append(EncodedPair(tuple(source.ids), short))
    return encoded


Row = tuple[tuple[int, ...], tuple[int, ...]]


def draw(pairs: Sequence[EncodedPair], generator: random.Random) -> list[Row]:
    """Draw every sentence once, in any order, each with one of its translations.

    One translation each: a sentence with thirty of them would otherwise be thirty times as important as another.
    """
    drawn = [(pair.source, generator.choice(pair.targets)) for pair in pairs]
    generator.shuffle(drawn)
    return drawn


def deal(rows: Sequence[Row], size: int, generator: random.Random) -> list[TranslationBatch]:
    """Batches of like lengths, in any order."""
    # Sorting is stable: among pairs of the same lengths the shuffled order stays.
    batches = list(_same_length(sorted(rows, key=lambda row: (len(row[0]), len(row[1]))), size))
    generator.shuffle(batches)
    return [collate(rows) for rows in batches]


def all_batches(pairs: Sequence[EncodedPair], size: int) -> list[TranslationBatch]:
    """Batch every sentence with every translation, in order of length: to measure, not to train."""
    rows = sorted(((pair.source, target) for pair in pairs for target in pair.targets), key=lambda row: (len(row[0]), row))
    return [collate(batch) for batch in _same_length(rows, size)]


def _same_length(rows: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Runs of at most `size` rows whose sources are equally long, so that no source needs padding."""
    start = 0
    for index in range(1, len(rows) + 1):
        if index == len(rows) or index - start == size or len(rows[index][0]) != len(rows[start][0]):
            yield rows[start:index]
            start = index
