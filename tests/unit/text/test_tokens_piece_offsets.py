import pytest

from attnviz.text.tokens import align


def spelled(surfaces: list[str], text: str, **options: bool) -> list[str]:
    return [text[start:end] for start, end in align(surfaces, text, **options)]


@pytest.mark.parametrize(
    ("surfaces", "text", "want"),
    [
        (["The", "cat", "s"], "the  cats", ["the", "cat", "s"]),
        (["the", "cat", "the"], "the cat the", ["the", "cat", "the"]),
        (["", "▁Hello", ",", "▁world", ""], "Hello, world", ["", "Hello", ",", "world", ""]),
        (["fi", "ne"], "ﬁne", ["ﬁ", "ne"]),
        (["été", "s"], "e\u0301te\u0301s", ["e\u0301te\u0301", "s"]),
        (["cafe", "s"], "cafés", ["café", "s"]),
        (["a", "<unk>", "b"], "a ☃☃ b", ["a", "☃☃", "b"]),
        (["a", "<unk>"], "a ☃ b", ["a", "☃ b"]),
        (["<unk>", "�", "b"], "👩 b", ["👩", "👩", "b"]),
    ],
)
def test_pieces_are_found_in_the_text_as_typed(surfaces: list[str], text: str, want: list[str]) -> None:
    assert spelled(surfaces, text) == want


def test_of_a_text_that_was_cut_an_unknown_last_piece_does_not_take_the_rest() -> None:
    assert spelled(["a", "<unk>"], "a ☃ b c", whole=False) == ["a", ""]


def test_repeated_words_are_found_one_after_another() -> None:
    assert align(["no", "no", "no"], "no no no") == [(0, 2), (3, 5), (6, 8)]


def test_a_piece_is_not_looked_for_across_the_whole_text() -> None:
    text = "a " + "x" * 200 + " b"
    assert align(["b"], text, whole=False) == [(0, 0)]
