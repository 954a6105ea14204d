"""A word is spelled out where its pieces are many and short."""

from dataclasses import replace

import pytest

from attnviz.analysis.translation_alignment import spelled_out
from tests.factories import typed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Z|b|ig sat", (("Z", "b", "ig"),)),
        ("un|be|lie|va|ble", (("un", "be", "lie", "va", "ble"),)),
        ("abc|def|ghi", ()),
        ("abc|def|gh", (("abc", "def", "gh"),)),
        ("abc|def|gh|ijkl", ()),
        ("abc|def|gh|ijk", (("abc", "def", "gh", "ijk"),)),
        ("abc|de|fghi|j", (("abc", "de", "fghi", "j"),)),
        ("Z|b", ()),
        (".|,|! Z|b|ig Z|b|ig", (("Z", "b", "ig"),)),
    ],
)
def test_words_of_many_short_pieces_are_listed_once(text: str, words: tuple[tuple[str, ...], ...]) -> None:
    assert spelled_out(typed(text)) == words


def test_the_mark_before_a_word_is_no_piece() -> None:
    mark, *pieces = typed("_|Z|big")
    assert spelled_out([replace(mark, end=mark.start), *pieces]) == ()
