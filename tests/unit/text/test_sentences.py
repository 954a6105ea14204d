"""Where sentences stand: typed, pasted with broken lines, in other scripts, and not at all."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.text.sentences import Sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in Sentences.of(text).spans]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("We show this. It works!", ["We show this.", "It works!"]),
        ("As in Smith et al. (2016), e.g. Fig. 3, it is 3.5.", ["As in Smith et al. (2016), e.g. Fig. 3, it is 3.5."]),
        ("A line\nthat is\r\nbroken. Next.", ["A line\nthat is\r\nbroken.", "Next."]),
        ("A title\n\nA text.\r\n \r\nThe end", ["A title", "A text.", "The end"]),
        ("😀 Yes! مرحبا بك؟ نعم.", ["😀 Yes!", "مرحبا بك؟", "نعم."]),
        ("Ms. Orr met Dr. No at approx. 5 o'clock.", ["Ms. Orr met Dr. No at approx. 5 o'clock."]),
        (
            "It ended in May. She told me. I said no. Was it ok?",
            ["It ended in May.", "She told me.", "I said no.", "Was it ok?"],
        ),
        ("It is no. 5, on May. 3", ["It is no. 5, on May. 3"]),
        ("<b>a</b>", ["<b>a</b>"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_sentences(text, sentences):
    assert cut(text) == sentences


@given(st.text(st.sampled_from("ab .!?\n\r😀م\t"), max_size=40))
def test_all_that_is_not_space_is_in_one_sentence_in_order(text):
    spans = Sentences.of(text).spans
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())
    flat = [edge for span in spans for edge in span]
    assert flat == sorted(flat)
    assert all(start < end for start, end in spans)


def test_joined_ones_stand_where_they_were_put():
    sentences = ["One. ", "  Two", "Three?"]
    text = " ".join(sentences)
    assert [text[start:end] for start, end in Sentences.joined(sentences).spans] == ["One.", "Two", "Three?"]


def test_a_position_between_two_belongs_to_the_first():
    spans = Sentences(((2, 5), (7, 9)))
    assert [spans.at(position) for position in (0, 2, 5, 6, 7, 99)] == [0, 0, 0, 0, 1, 1]


def test_a_hundred_thousand_words_take_no_time():
    start = time.process_time()
    assert len(cut("word and word. " * 33_000)) == 33_000
    assert time.process_time() - start < 5
