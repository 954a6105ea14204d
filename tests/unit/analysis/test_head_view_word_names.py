"""Words by name, each name once; what is no name is told with those there are."""

import pytest

from attnviz.analysis.head_view import word_at, word_names
from attnviz.core.errors import TraceError
from tests.factories import sentence, typed


def test_each_word_has_a_name_of_its_own() -> None:
    tokens = sentence("the cat saw un|believ|able dogs near the barn")
    assert word_names(tokens[:4]) == ["[CLS]", "the", "cat", "saw"]
    assert word_names(tokens)[1] == "the(1)"


def test_a_word_is_found_though_invisible_characters_were_copied_along() -> None:
    assert word_at("\u2060Sat\u200b", typed("the cat sat")) == 2


@pytest.mark.parametrize(("count", "end"), [(12, r"w10, w11\."), (13, r"w10, w11 …\.")])
def test_twelve_words_are_named(count: int, end: str) -> None:
    with pytest.raises(TraceError, match=rf"“{'x' * 40}”: there are w0, .*{end}$"):
        word_at("x" * 50, typed(" ".join(f"w{at}" for at in range(count))))
