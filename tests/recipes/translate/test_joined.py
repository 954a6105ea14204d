"""Sentences read in a row: none is lost, the share is kept, and their links move with them."""

import dataclasses
import random

import pytest
import torch

from recipes.loop import Run
from recipes.schedule import Schedule
from recipes.translate.joined import Joined, join
from recipes.translate.sentence_pairs import EncodedPair
from recipes.translate.task import Translating

ROWS = [((5 + n, 6 + n), (7 + n, 8 + n, 9 + n)) for n in range(997)]


def test_every_sentence_is_read_once_and_half_of_the_rows_are_long():
    rows, links = join(ROWS, Joined(share=0.5, most=3), {}, random.Random(1))
    assert [piece for source, _ in rows for piece in source] == [piece for source, _ in ROWS for piece in source]
    assert [piece for _, target in rows for piece in target] == [piece for _, target in ROWS for piece in target]
    lengths = [len(source) // 2 for source, _ in rows]
    assert set(lengths) == {1, 2, 3}
    assert sum(length > 1 for length in lengths) / len(rows) == pytest.approx(0.5, abs=0.05)
    assert len(links) == sum(length > 1 for length in lengths)


def test_links_stand_where_their_sentences_stand():
    known = {row: ((2, 0), (0, 1)) for row in ROWS}
    rows, links = join(ROWS, Joined(share=1.0, most=4), known, random.Random(2))
    for row in rows:
        n = len(row[0]) // 2
        if n > 1:
            assert set(links[row]) == {
                pair for part in range(n) for pair in ((3 * part + 2, 2 * part), (3 * part, 2 * part + 1))
            }


def test_a_run_reads_long_rows_from_their_epoch_on(recipe):
    pairs = [EncodedPair((4 + n % 7, 5 + n % 5), ((4 + n % 7, 6),)) for n in range(200)]
    schedule = Schedule(epochs=2, batch=17, warmup=5, precision="float32")
    plan = dataclasses.replace(recipe, schedule=schedule, joined=Joined(since=1))
    run = Run(plan, recipe.model.untrained_model(61, 59), Translating(plan, pairs, pairs[:3]))
    seen = []
    run.model.register_forward_pre_hook(lambda _, inputs: seen.append((run.progress.epoch, inputs[0].shape[1])))
    torch.manual_seed(1)
    run.train(lambda report: None)
    assert {width for epoch, width in seen if epoch == 0} == {2}
    assert {width for epoch, width in seen if epoch == 1 and width > 2} == {4, 6, 8}


def test_long_texts_count_in_what_decides_which_epoch_is_best(recipe):
    pairs = [EncodedPair((4 + n, 5 + n), ((6 + n, 7 + n, 8 + n),)) for n in range(23)]
    model = recipe.model.untrained_model(61, 59).eval()
    widths: list[int] = []
    model.register_forward_pre_hook(lambda _, inputs: widths.append(inputs[0].shape[1]))
    how = Joined(since=5, most=2)
    with torch.no_grad():
        short = Translating(recipe, [], pairs).development(model)
        assert set(widths) == {2}
        both = Translating(dataclasses.replace(recipe, joined=how), [], pairs).development(model)
        assert set(widths) == {2, 4}
        assert both != short
        assert both == Translating(dataclasses.replace(recipe, joined=how), [], pairs).development(model)
