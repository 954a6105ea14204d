"""ROUGE against a computation of our own from its definition (Lin 2004)."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache

import pytest
from rouge_score.rouge_scorer import RougeScorer

from attnviz.analysis.summarize.rouge import rouge, stems


def f1(overlap: int, mine: int, theirs: int) -> float:
    return 2 * overlap / (mine + theirs) if overlap else 0.0


def by_grams(summary: Sequence[str], reference: Sequence[str], n: int) -> float:
    mine, theirs = (Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (summary, reference))
    return f1(sum((mine & theirs).values()), sum(mine.values()), sum(theirs.values()))


def by_order(summary: Sequence[str], reference: Sequence[str]) -> float:
    @cache
    def longest(i: int, j: int) -> int:
        if not i or not j:
            return 0
        if summary[i - 1] == reference[j - 1]:
            return longest(i - 1, j - 1) + 1
        return max(longest(i - 1, j), longest(i, j - 1))

    return f1(longest(len(summary), len(reference)), len(summary), len(reference))


@pytest.mark.parametrize(
    ("summary", "reference"),
    [
        ("the cat sat on the mat", "the cat lay on a mat"),
        ("a b c d", "d c b a"),
        ("networks learn", "learning a network"),
        ("nothing here", "something else"),
    ],
)
def test_it_is_what_its_definition_says(summary, reference):
    mine, theirs = stems(summary), stems(reference)
    actual = rouge(summary, [reference])
    assert actual.one == pytest.approx(by_grams(mine, theirs, 1))
    assert actual.two == pytest.approx(by_grams(mine, theirs, 2))
    assert actual.longest == pytest.approx(by_order(mine, theirs))
    assert actual.mean == pytest.approx((actual.one + actual.two + actual.longest) / 3)


def test_each_measure_has_the_reference_that_suits_it_best():
    actual = rouge("one two three four", ["four three two one", "one two"])
    assert actual.one == 1
    assert actual.two == pytest.approx(f1(1, 3, 1))


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


def test_a_long_reference_takes_no_longer_than_its_words():
    draw = random.Random(1)
    summary, reference = (" ".join(f"w{draw.randint(0, 200)}" for _ in range(6000)) for _ in range(2))
    stems(summary)
    stems(reference)
    began = time.monotonic()
    assert 0 < rouge(summary, [reference]).longest < 1
    assert time.monotonic() - began < 1
