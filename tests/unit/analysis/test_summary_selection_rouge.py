"""ROUGE against the package of those who published it."""

import random
import time

import pytest
from rouge_score.rouge_scorer import RougeScorer

from attnviz.analysis.summary_selection import rouge, stems


def test_a_text_without_latin_letters_has_nothing_in_common():
    assert rouge("مرحبا 😀", ["مرحبا 😀"]).one == 0


def test_it_is_to_the_last_digit_what_rouge_score_gives():
    draw, kinds = random.Random(1), ["rouge1", "rouge2", "rougeL"]
    scorer = RougeScorer(kinds, use_stemmer=True)
    words = ["cat", "cats", "sat", "the", "a", "mat", "on", "ran", "dogs"]
    for _ in range(200):
        texts = [" ".join(draw.choices(words, k=draw.randint(0, 25))) for _ in range(3)]
        want, actual = scorer.score_multi(texts[1:], texts[0]), rouge(texts[0], texts[1:])
        assert (actual.one, actual.two, actual.longest) == tuple(want[kind].fmeasure for kind in kinds)
        assert actual.mean == pytest.approx(sum((actual.one, actual.two, actual.longest)) / 3)


def test_a_long_reference_takes_no_longer_than_its_words():
    draw = random.Random(1)
    summary, reference = (" ".join(f"w{draw.randint(0, 200)}" for _ in range(6000)) for _ in range(2))
    stems(summary)
    stems(reference)
    began = time.process_time()
    assert 0 < rouge(summary, [reference]).longest < 1
    assert time.process_time() - began < 1
