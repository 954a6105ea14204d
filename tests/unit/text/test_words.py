import pytest

from attnviz.text.words import Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The animal didn't cross.", ["The", "animal", "didn't", "cross", "."]),
        ("can’t pay 3.14 or 1,000", ["can’t", "pay", "3.14", "or", "1,000"]),
        ("中文字 hello世界", ["中", "文", "字", "hello", "世", "界"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("👩‍👩‍👧 and 🇫🇷!", ["👩‍👩‍👧", "and", "🇫🇷", "!"]),
        ("e\u0301te\u0301 a\r\nb", ["e\u0301te\u0301", "a", "b"]),
        ("the U.S. at 5 p.m. on example.com", ["the", "U.S", ".", "at", "5", "p.m", ".", "on", "example.com"]),
        ("צה\"ל l'eau 'a a.1", ['צה"ל', "l'eau", "'a", "a", ".", "1"]),
        ("<script>", ["<", "script", ">"]),
        ("the cat the", ["the", "cat", "the"]),
        ("", []),
        ("  \t\n ", []),
    ],
)
def test_text_is_cut_at_unicode_word_boundaries(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in Words.of(text).spans] == words


def test_a_position_is_in_the_word_around_it_and_in_none_between_words() -> None:
    words = Words.of("It didn't,  no")
    assert [words.at(position) for position in range(14)] == [0, 0, None, *[1] * 6, 2, None, None, 3, 3]
    assert words.at(14) is None
    assert Words.of("").at(0) is None
