"""Toy tasks: what is right, against Python's own sorting, reversing and dates, and that every link points at its origin."""

import datetime
import random

import pytest

from attnviz.core.errors import PromptError
from attnviz.text.toy_tasks import MONTHS, TOYS, spelt

RIGHT = {
    "copy": lambda text: text,
    "reverse": lambda text: text[::-1],
    "sort": lambda text: "".join(sorted(text)),
}


def drawn(name: str, n: int = 200) -> list[str]:
    generator = random.Random(7)
    return [TOYS[name].draw(generator) for _ in range(n)]


@pytest.mark.parametrize("name", RIGHT)
def test_letters_and_digits_come_from_where_they_are_equal(name):
    for text in drawn(name):
        solved = TOYS[name].solve(text)
        assert "".join(solved.target) == RIGHT[name](text)
        for token, sure, possible in zip(solved.target, solved.sure, solved.possible, strict=True):
            assert sure <= possible
            assert possible
            assert {text[place] for place in possible} == {token}


def test_of_equal_digits_none_is_sure_and_reversed_places_are_exact():
    solved = TOYS["sort"].solve("505")
    assert solved.sure == (frozenset({1}), frozenset(), frozenset())
    assert solved.possible == (frozenset({1}), frozenset({0, 2}), frozenset({0, 2}))
    assert TOYS["reverse"].solve("aab").sure == (frozenset({2}), frozenset({1}), frozenset({0}))


def test_dates_are_the_calendar_s():
    day, number = datetime.date(2019, 3, 3), 0
    while day.year < 2021:
        day += datetime.timedelta(days=17)
        month = MONTHS[day.month - 1]
        for text in (f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"):
            solved = TOYS["dates"].solve(text)
            assert "".join(solved.target) == day.isoformat()
            for place, links in enumerate(solved.possible):
                letters = "".join(text[at] for at in sorted(links))
                assert letters == ("" if place in (4, 7) else month if place in (5, 6) else letters)
                if place < 4 or (place > 7 and day.day > 9):
                    assert letters == solved.target[place]
            number += 1
    assert number > 60


def test_every_number_is_read_back_and_its_digits_come_from_their_words():
    for number in range(1, 10_000, 7):
        solved = TOYS["numbers"].solve(spelt(number))
        assert int("".join(solved.target)) == number
    solved = TOYS["numbers"].solve("four thousand two hundred seven")
    assert solved.sure == (frozenset({0}), frozenset({2}), frozenset(), frozenset({4}))
    assert solved.possible[:2] == (frozenset({0, 1}), frozenset({2, 3}))
    assert TOYS["numbers"].solve("Forty-Two").target == ("4", "2")
    assert TOYS["numbers"].solve("twelve").sure == (frozenset({0}), frozenset({0}))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("reverse", "  ", "nothing to read"),
        ("reverse", "naïve", "never seen “ï”"),
        ("sort", "12a", "never seen “a”"),
        ("copy", "a" * 33, "33 tokens, and at most 32"),
        ("dates", "3 march 19", "no date"),
        ("dates", "march", "no date"),
        ("numbers", "two two", "no number"),
        ("numbers", "two<script>", "never seen “two<script>”"),
    ],
)
def test_what_cannot_be_read_is_said(name, text, said):
    with pytest.raises(PromptError, match=said):
        TOYS[name].solve(text)


@pytest.mark.parametrize("name", TOYS)
def test_tokens_go_through_the_tokenizers_and_back(name):
    toy = TOYS[name]
    for text in drawn(name, 20):
        solved = toy.solve(text)
        assert toy.target.decode(toy.target.encode("".join(solved.target)).ids) == "".join(solved.target)
        assert tuple(toy.source.encode(text).tokens) == solved.source
