"""What is kept of a text, against sorting by hand."""

import numpy as np
import pytest

from attnviz.analysis.summary_selection import Amount, choose, read_passage, top
from attnviz.core.errors import TraceError
from attnviz.core.trace import Token
from attnviz.text.sentences import Sentences
from tests.factories import special

TEXT = "Cats sleep. Dogs, too, don't!"
TOKENS = (
    special("[CLS]"),
    *(Token("Cat", 0, 3, word=0), Token("s", 3, 4, word=0), Token("sleep", 5, 10, word=1), Token(".", 10, 11, word=2)),
    *(Token("Dogs", 12, 16, word=3), Token(",", 16, 17, word=4), Token("too", 18, 21, word=5), Token(",", 21, 22, word=6)),
    *(Token("don't", 23, 28, word=7), Token("!", 28, 29, word=8)),
    special("[SEP]"),
)
SCORES = np.array([9, 1, 2, 5, 9, 2, 9, 4, 9, 0, 9, 9], dtype=float)


def test_words_are_units_and_sum_what_their_tokens_receive():
    actual = read_passage(TEXT, TOKENS)
    assert [unit.text for unit in actual.units] == ["Cats", "sleep", ".", "Dogs", ",", "too", ",", "don't", "!"]
    assert actual.by_unit(SCORES).tolist() == [3, 5, 9, 2, 9, 4, 9, 0, 9]
    assert actual.sentence == (0, 0, 0, 1, 1, 1, 1, 1, 1)
    assert actual.read.tolist() == [True, True]


def test_a_sentences_share_and_its_mean():
    actual = read_passage(TEXT, TOKENS)
    np.testing.assert_allclose(actual.by_sentence(SCORES), np.array([17, 33]) / 50)
    np.testing.assert_allclose(actual.by_sentence(SCORES, mean=True), [17 / 4, 33 / 6])


def test_special_tokens_and_punctuation_are_never_kept():
    actual = read_passage(TEXT, TOKENS)
    kept = choose(actual, actual.by_unit(SCORES), actual.by_sentence(SCORES), Amount(3))
    assert actual.words(kept.units) == "Cats sleep too"
    assert actual.extract(kept.sentences) == "Dogs, too, don't!"
    everything = choose(actual, actual.by_unit(SCORES), actual.by_sentence(SCORES), Amount(99, sentences=99))
    assert actual.words(everything.units) == "Cats sleep Dogs too don't"
    assert actual.extract(everything.sentences) == TEXT


def test_tokens_and_punctuation_where_they_are_asked_for():
    actual = read_passage(TEXT, TOKENS, words=False, punctuation=True)
    assert len(actual.units) == 10
    kept = choose(actual, actual.by_unit(SCORES), actual.by_sentence(SCORES), Amount(4))
    assert actual.words(kept.units) == ". , , !"
    # Tokens that touch in the text are not parted.
    both = np.array([unit.text in ("Cat", "s", "sleep") for unit in actual.units])
    assert actual.words(both) == "Cats sleep"


@pytest.mark.parametrize(
    ("amount", "count"), [(Amount(0), 1), (Amount(2), 2), (Amount(50, share=True), 2), (Amount(1, share=True), 1)]
)
def test_how_many(amount, count):
    actual = read_passage(TEXT, TOKENS)
    assert amount.count(actual) == count
    assert int(choose(actual, actual.by_unit(SCORES), actual.by_sentence(SCORES), amount).units.sum()) == count


def test_a_sentence_that_was_not_read_is_not_kept():
    actual = read_passage(f"{TEXT} And more.", TOKENS)
    assert actual.read.tolist() == [True, True, False]
    kept = choose(actual, actual.by_unit(SCORES), np.array([1.0, 2, 3]), Amount(1))
    assert kept.sentences.tolist() == [False, True, False]


def test_given_sentences_are_taken():
    actual = read_passage(TEXT, TOKENS, sentences=Sentences(((0, 22), (23, 29))))
    assert actual.sentence == (0,) * 7 + (1,) * 2


@pytest.mark.parametrize("tokens", [(), (special("[CLS]"),), (Token("!", 0, 1),)])
def test_nothing_that_could_be_kept_is_one_sentence(tokens):
    with pytest.raises(TraceError, match="no word in this text"):
        read_passage("!", tokens)


def test_of_equal_ones_the_first():
    assert top(np.zeros(4), 2, np.array([False, True, True, True])).tolist() == [False, True, True, False]
