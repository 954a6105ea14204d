"""ROUGE against a computation of our own from its definition (Lin 2004)."""

from collections import Counter
from functools import cache

import pytest

from attnviz.analysis.summarize.rouge import rouge, stems


def f1(overlap: int, mine: int, theirs: int) -> float:
    return 2 * overlap / (mine + theirs) if overlap else 0.0


def by_grams(summary: list[str], reference: list[str], n: int) -> float:
    mine, theirs = (Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (summary, reference))
    return f1(sum((mine & theirs).values()), sum(mine.values()), sum(theirs.values()))


def by_order(summary: list[str], reference: list[str]) -> float:
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
    found = rouge(summary, [reference])
    assert found.one == pytest.approx(by_grams(mine, theirs, 1))
    assert found.two == pytest.approx(by_grams(mine, theirs, 2))
    assert found.longest == pytest.approx(by_order(mine, theirs))
    assert found.mean == pytest.approx((found.one + found.two + found.longest) / 3)


def test_each_measure_has_the_reference_that_suits_it_best():
    found = rouge("one two three four", ["four three two one", "one two"])
    assert found.one == 1
    assert found.two == pytest.approx(f1(1, 3, 1))


def test_a_text_without_latin_letters_has_nothing_in_common():
    assert rouge("مرحبا 😀", ["مرحبا 😀"]).one == 0
