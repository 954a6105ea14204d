"""Whether a text seems to be English."""

import pytest

from attnviz.text.words import seems_english


@pytest.mark.parametrize(
    "text",
    ["Tom sings.", "I don't like black cats.", "Paris", "", "42!", "The agreement on the European Economic Area was signed.",
     "C'est la vie, he said to the man.", "😀", "a < b & c"],
)  # fmt: skip
def test_english_and_what_might_be(text):
    assert seems_english(text)


@pytest.mark.parametrize(
    "text",
    ["Je ne mange pas de viande.", "Ich habe das nicht gesehen.", "No sé dónde está el libro.", "Non so che cosa è.",
     "Я не знаю.", "我不知道", "مرحبا بالعالم", "Ich bin müde.", "Le chat dort.", "El gato duerme.", "Je dors"],
)  # fmt: skip
def test_other_languages(text):
    assert not seems_english(text)
