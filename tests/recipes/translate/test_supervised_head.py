"""One head of a Transformer that is supervised: the links that it is given, and that it learns them."""

import dataclasses
import math
import os
import stat
from typing import Any

import pytest
import torch

from attnviz.nn.encoder import BlockConfig
from attnviz.training.toy_training import collate
from recipes.data import DataError
from recipes.loop import Run
from recipes.translate.alignment_error import LinkedPair
from recipes.translate.eflomal import link, words
from recipes.translate.recipe import Recipe, TransformerSpec
from recipes.translate.sentence_pairs import EncodedPair, Tokenizers, read_pairs
from recipes.translate.supervised_head import (
    SupervisedHead,
    alignment_loss,
    linked_rows,
    piece_links,
    read_piece_links,
)
from recipes.translate.task import Translating, encode_split, tokenizers_of, train_translator

# Writes the same links whatever it reads: word n to word n forward, and besides the first to the second backward.
ALIGNER = """#!/usr/bin/env python3
import sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = [line.split() for line in open(given["-t"], encoding="utf-8")]
with open(given["-f"], "w") as forward, open(given["-r"], "w") as backward:
    for row in rows:
        links = " ".join(f"{n}-{n}" for n in range(len(row)))
        forward.write(links + "\\n")
        backward.write(links + " 0-1\\n")
"""


@pytest.fixture
def aligner(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "eflomal-align"
    program.write_text(ALIGNER, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def transformer(recipe):
    block = BlockConfig(dim=32, n_heads=2, hidden=37, norm="before", dropout=0.0)
    return dataclasses.replace(recipe, model=TransformerSpec(2, block))


def planned(recipe: Recipe, **schedule: Any) -> Recipe:
    """The recipe with another schedule."""
    return dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, **schedule))


def test_links_go_from_words_to_all_their_pieces(data):
    tokenizers = Tokenizers.trained(read_pairs(data, "tatoeba-en-fr.train"), ("en", "fr"), (40, 40))
    texts = ("seven two.", "sept quatre !")
    source, target = tokenizers.source.encode(texts[0]), tokenizers.target.encode(texts[1])
    assert len(target.ids) > 3
    sure, possible = frozenset({(0, 0)}), frozenset({(0, 0), (1, 0), (1, 1), (2, 2)})
    actual = piece_links(LinkedPair((("seven", "two", "."), ("sept", "quatre", "!")), texts, sure, possible), source, target)
    want = {
        (row, column)
        for row, word in enumerate(target.word_ids)
        for column, other in enumerate(source.word_ids)
        # "sept" has a sure link: its possible one to "two" does not count beside it. The others have none.
        if word == other
    }
    assert set(actual) == want


def test_the_row_that_reads_a_piece_is_told():
    batch = collate([((7, 8), (5, 6)), ((9, 9), (5,))])
    rows = linked_rows(batch, {((7, 8), (5, 6)): ((0, 1), (1, 0), (1, 1))})
    assert rows.tolist() == [[[0, 0], [0, 1], [0.5, 0.5]], [[0, 0], [0, 0], [0, 0]]]


def test_the_loss_by_hand():
    weights = torch.tensor([[[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]])
    rows = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]])
    assert float(alignment_loss(weights, rows)) == pytest.approx(-(math.log(0.25) + math.log(0.5)) / 2)
    assert float(alignment_loss(weights, torch.zeros_like(rows))) == 0


@pytest.mark.usefixtures("unchecked")
def test_a_supervised_head_learns_its_links(transformer):
    """Told the reverse of what would help: no other reason would make it look there."""
    torch.manual_seed(1)
    rows = [tuple(torch.randperm(7)[:4].add(4).tolist()) for _ in range(300)]
    pairs = [EncodedPair(row, (row,)) for row in rows]
    links = {(row, row): tuple((index, 3 - index) for index in range(4)) for row in rows}
    actual = {}
    for head, epochs in ((None, 1), (SupervisedHead(layer=1, head=1, weight=4.0, since=1), 12)):
        torch.manual_seed(2)
        schedule = {"epochs": epochs, "batch": 34, "learning_rate": 5e-3}
        plan = dataclasses.replace(planned(transformer, **schedule), supervised_head=head)
        run = Run(plan, plan.model.untrained_model(11, 11), Translating(plan, pairs, pairs[:17], links))
        run.train(lambda report: None)
        batch = collate([(row, row) for row in rows[:50]])
        run.model.eval()
        weights = run.model(batch.source, batch.inputs)[1].cross[1][:, 1]
        actual[head is None] = float((weights[:, 1:].argmax(-1) == torch.arange(3, -1, -1)).float().mean())
    assert actual[False] > 0.95
    assert actual[True] < 0.6


def test_links_are_made_read_and_learned_from(transformer, data, tmp_path, aligner):
    short = planned(transformer, epochs=2)
    supervised = dataclasses.replace(short, supervised_head=SupervisedHead(layer=0, head=1, since=1))
    folder = tmp_path / "data"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"tatoeba-en-fr.{split}.tsv.gz").write_bytes((data / f"tatoeba-en-fr.{split}.tsv.gz").read_bytes())
    with pytest.raises(DataError, match="python -m recipes link"):
        train_translator(supervised, folder, tmp_path / "run", lambda report: None)
    lines = []
    link(supervised.corpus, folder, folder, lines.append)
    assert [line.split()[0] for line in lines] == ["173", "23"]
    tokenizers = tokenizers_of(supervised.corpus, folder, tmp_path / "run")
    known = read_piece_links(folder, "tatoeba-en-fr", tokenizers)
    pairs = encode_split(supervised.corpus, folder, tokenizers, "train")
    assert {(pair.source, target) for pair in pairs for target in pair.targets} == set(known)
    assert all((0, 0) in links for links in known.values())
    unsupervised = train_translator(short, folder, tmp_path / "unsupervised", lambda report: None).best
    best = train_translator(supervised, folder, tmp_path / "run", lambda report: None).best
    assert not torch.equal(best["decoder.0.cross.query.weight"], unsupervised["decoder.0.cross.query.weight"])


def test_a_head_can_be_told_to_a_run_that_has_not_come_so_far(transformer, data, tmp_path, aligner):
    class StopError(Exception):
        pass

    def stop(report):
        if report.epoch == 2:
            raise StopError

    short = planned(transformer, epochs=4, decay=0.0)
    with pytest.raises(StopError):
        train_translator(short, data, tmp_path / "run", stop)
    link(short.corpus, data, tmp_path, lambda line: None)
    for name in ("tatoeba-en-fr.train", "tatoeba-en-fr.dev"):
        (tmp_path / f"{name}.tsv.gz").write_bytes((data / f"{name}.tsv.gz").read_bytes())
    begun = dataclasses.replace(short, supervised_head=SupervisedHead(layer=0, head=0, since=1))
    with pytest.raises(DataError, match="made by another recipe"):
        train_translator(begun, tmp_path, tmp_path / "run", lambda report: None)
    to_come = dataclasses.replace(short, supervised_head=SupervisedHead(layer=0, head=0, since=3))
    assert train_translator(to_come, tmp_path, tmp_path / "run", lambda report: None).progress.epoch == 4


def test_without_the_aligner_one_sentence_says_so(transformer, data, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="pip install eflomal"):
        link(transformer.corpus, data, tmp_path, lambda line: None)


def test_words_are_those_of_the_subwords(data):
    tokenizers = Tokenizers.trained(read_pairs(data, "tatoeba-en-fr.train"), ("en", "fr"), (61, 59))
    assert words(tokenizers.target, "N’est-ce pas ?") == ["N'", "est", "-ce", "pas", "?"]
