"""A token as a label, and which way a text is read."""

import html

import pytest

from attnviz.core.trace import Token
from attnviz.figures.html import direction, label
from tests.factories import HOSTILE, special


@pytest.mark.parametrize("text", HOSTILE)
def test_a_label_reads_as_typed_and_opens_no_element(text: str) -> None:
    drawn = label(Token(text, 0, 1))
    assert html.unescape(drawn) == text
    assert not {"<", ">"} & set(drawn)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["مرحبا", "hello"], "rtl"),
        (["hello", "مرحبا"], "ltr"),
        (["שלום", "1"], "rtl"),
        (["7", "!", "مرحبا"], "rtl"),
        (["1"], "ltr"),
    ],
)
def test_a_text_is_read_as_its_first_letter_is(texts: list[str], expected: str) -> None:
    assert direction([special("[CLS]"), *(Token(text, 0, 1) for text in texts)]) == expected
