"""The text as it is described: what is kept of it, and bars whose longest is that of the best word that may be kept."""

import re

import numpy as np

from attnviz.analysis.summary_selection import Amount, SummaryWord, choose, read_passage
from attnviz.core.trace import Token
from attnviz.figures.summary_passage import kept_passage, summary_buttons
from tests.factories import special, typed


def test_what_is_kept_is_described_with_its_share():
    text, scores = "One two . Three four .", [0.1, 0.4, 0.9, 0.2, 0.3, 0]
    actual = read_passage(text, (special("[CLS]"), *typed(text), special("[SEP]")))
    units, shares = np.array(scores), actual.by_sentence(np.array([0, *scores, 0]))
    described = kept_passage(actual, choose(actual, units, shares, Amount(2)), units, shares)
    assert [text[start:end] for start, end in (described["units"][place] for place in described["kept"])] == ["two", "four"]
    # A full stop receives more, and may not be kept.
    assert (described["scores"], described["highest"]) == (scores, 0.4)
    assert described["sentence"] == (0, 0, 0, 1, 1, 1)
    assert described["sentences"] == [[0, round(1.4 / 1.9, 6)]]
    assert kept_passage(actual, choose(actual, units, shares, Amount(2)), units)["sentences"] == [[0, None]]


def test_a_summarys_new_words_are_told_apart_and_every_word_can_be_clicked():
    words = tuple(
        SummaryWord(token, copied, np.ones(1))
        for token, copied in ((Token("<b>", 0, 3), True), (Token("new", 4, 7), False), (Token(".", 7, 8), None))
    )
    html = summary_buttons(words, chosen=1)
    assert re.findall(r'class="word([^"]*)" data-pick="(\d)"', html) == [("", "0"), (" new chosen", "1"), ("", "2")]
    assert "&lt;b&gt;" in html
    # A full stop touches the word before it.
    assert re.sub(r"<[^>]+>", "", html).startswith("&lt;b&gt; new.")
