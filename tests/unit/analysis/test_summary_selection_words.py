"""A written summary's words: where they came from, and which are new."""

import numpy as np
import pytest

from attnviz.analysis.summary_selection import (
    Amount,
    Selection,
    SummaryWord,
    choose,
    describe_choice,
    describe_copies,
    describe_sentences,
    describe_word_origin,
    read_passage,
    summary_words,
)
from attnviz.analysis.wording import plain
from attnviz.core.trace import Token
from tests.factories import make_map, special, typed

TEXT = "Cats sleep . Dogs bark"
SOURCE = (*typed(TEXT), special("</s>"))
# The decoder reads a start token first, and "un" and "seen" are one word.
TARGET = (
    special("<s>"),
    Token("dogs", 0, 4, word=0),
    Token("un", 5, 7, word=1),
    Token("seen", 7, 11, word=1),
    Token(".", 11, 12, word=2),
    special("</s>"),
)


@pytest.fixture
def actual():
    return read_passage(TEXT, SOURCE)


def test_a_word_comes_from_the_rows_that_wrote_it(actual):
    attention = make_map(TARGET, SOURCE)
    words = summary_words(attention, actual, layer=1, head=2)
    assert [(word.token.text, word.copied) for word in words] == [("dogs", True), ("unseen", False), (".", None)]
    weights = attention.weights(1, 2)
    np.testing.assert_allclose(words[0].row, weights[0], atol=1e-6)
    np.testing.assert_allclose(words[1].row, (weights[1] + weights[2]) / 2, atol=1e-6)
    assert summary_words(make_map(TARGET[1:], SOURCE), actual, layer=0, head=0)[0].token.text == "unseen"
    mean = summary_words(attention, actual, layer=1, head=None)
    np.testing.assert_allclose(mean[0].row, attention.layer_weights(1)[:, 0].mean(axis=0), atol=1e-6)


def test_what_is_told_of_a_summary(actual):
    words = summary_words(make_map(TARGET, SOURCE), actual, layer=0, head=0)
    for some, parts in ((words, ("1 of the 2 words", "new is “unseen”")), (words[:1] * 2, ("2 of the 2 words", "alone"))):
        assert all(part in plain(describe_copies(some)) for part in parts)
    best = actual.by_unit(words[0].row)
    found = f"most at “{actual.units[int(best.argmax())].text}” ({100 * best.max():.0f}\xa0%)"
    assert found in plain(describe_word_origin(words[0], actual))


def test_what_is_told_of_a_choice(actual):
    tokens = np.array([0.1, 0.2, 0.1, 0.4, 0.1, 0.1])
    units, sentences = actual.by_unit(tokens), actual.by_sentence(tokens)
    kept = choose(actual, units, sentences, Amount(2))
    said = plain(describe_choice(actual, kept, units))
    assert all(part in said for part in ("2 of 4 words are marked. They get 75\xa0% of the attention", "“Dogs” most."))
    one = plain(describe_choice(actual, choose(actual, units, sentences, Amount(1)), units))
    assert one == "1 of 4 words is marked: “Dogs”. It gets 50\xa0% of the attention."
    alone = read_passage("Dogs", (*typed("Dogs"), special("</s>")))
    only = choose(alone, np.ones(1), np.ones(1), Amount(1))
    assert plain(describe_choice(alone, only, np.ones(1))).startswith("1 of 1 word is marked")
    assert plain(describe_sentences(actual, kept, sentences)) == (
        "Sentence 2 of 2 is kept. It gets 56\xa0% of the attention; the next best gets 44\xa0%."
    )
    both = choose(actual, units, sentences, Amount(2, sentences=2))
    assert "Sentences 1 and 2 of 2 are kept. Each gets at least 44\xa0% of the attention." in plain(
        describe_sentences(actual, both, sentences)
    )


@pytest.mark.parametrize(("new", "said"), [(3, "new is “w1”, “w2”, “w3”."), (4, "new is “w1”, “w2”, “w3” and more.")])
def test_three_new_words_are_named(new, said):
    row = np.zeros(6)
    words = tuple(SummaryWord(Token(f"w{at}", 0, 2), at == 0, row) for at in range(new + 1))
    assert plain(describe_copies(words)).endswith(said)
    assert f"1 of the {new + 1} words of the summary stands" in plain(describe_copies(words))


@pytest.mark.parametrize(("copied", "said"), [(True, "stands in the text: “tea”."), (False, "is new: “tea”.")])
def test_a_summary_of_one_word_is_not_counted(copied, said):
    words = (SummaryWord(Token("tea", 0, 3), copied, np.zeros(6)), SummaryWord(Token(".", 3, 4), None, np.zeros(6)))
    assert plain(describe_copies(words)) == f"The one word of the summary {said}"
    assert plain(describe_copies(words[1:])) == "The summary has no words."


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ([1, 0], "Sentence 1 of 2 is kept. It gets 75\xa0% of the attention; the next best gets 25\xa0%."),
        ([1, 1], "Sentences 1 and 2 of 2 are kept. Each gets at least 25\xa0% of the attention."),
        ([1, 1, 1], "Sentences 1, 2 and 3 of 3 are kept. Each gets at least 0\xa0% of the attention."),
    ],
)
def test_what_is_told_of_kept_sentences(kept, said):
    text = " ".join(("Cats sleep.", "Dogs bark.", "Ants work.")[: len(kept)])
    selection = Selection(np.ones(2 * len(kept), bool), np.array(kept, bool))
    shares = np.array([0.75, 0.25, 0.0])[: len(kept)]
    assert plain(describe_sentences(read_passage(text, typed(text)), selection, shares)) == said
