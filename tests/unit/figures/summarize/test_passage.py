"""The marked text: every word once, as typed, with a bar as long as what it receives."""

import re

import numpy as np
import pytest

from attnviz.analysis.summary_selection import Amount, SummaryWord, choose, read_passage
from attnviz.core.trace import Token
from attnviz.figures.summary_passage import BAR_PIXELS, UNREAD_CHARACTERS, marked_passage, summary_buttons
from attnviz.figures.theme import DARK, LIGHT
from tests.factories import special, typed

HOSTILE = '<script>alert(1)</script> a&b "q" مرحبا 😀 中文'


def drawn(text: str, scores: list[float], amount: Amount, **options) -> str:
    actual = read_passage(text, (special("[CLS]"), *typed(text), special("[SEP]")))
    units = np.array(scores, dtype=float)
    shares = actual.by_sentence(np.array([0, *scores, 0], dtype=float))
    return marked_passage(actual, choose(actual, units, shares, amount), units, shares, **options)


def test_what_is_kept_is_marked_and_bars_are_as_long_as_scores():
    html = drawn("One two . Three four .", [0.1, 0.4, 0.9, 0.2, 0.3, 0], Amount(2))
    assert re.findall(r'class="unit kept"[^>]*><bdi>(.*?)<', html) == ["two", "four"]
    heights = [float(height) for height in re.findall(r"height:([\d.]+)px", html)]
    # The longest bar is that of the best word that may be kept; a full stop that receives more is cut off there.
    assert heights == pytest.approx([BAR_PIXELS * share for share in (0.25, 1, 1, 0.5, 0.75, 0)], abs=0.06)
    assert [float(score) for score in re.findall(r'data-score="([\d.]+)"', html)] == [0.1, 0.4, 0.9, 0.2, 0.3, 0]
    assert html.count('class="sentence kept"') == 1
    assert html.index('class="rank">74\xa0%') < html.index("One")


def test_hostile_text_is_escaped_and_keeps_its_direction():
    html = drawn(HOSTILE, [0.1] * len(typed(HOSTILE)), Amount(3))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a&amp;b" in html
    assert html.count("<bdi>") == len(typed(HOSTILE))
    assert 'dir="auto"' in html


def test_a_blank_line_stays_and_other_space_is_one_space():
    text = "one\n\ntwo   three"
    actual = read_passage(text, (Token("one", 0, 3), Token("two", 5, 8), Token("three", 11, 16)))
    html = marked_passage(actual, choose(actual, np.ones(3), np.ones(2), Amount(1)), np.ones(3))
    assert html.count("<br><br>") == 1
    assert re.sub(r"<[^>]+>", "", html) == "onetwo three"


def test_what_was_not_read_is_shown_as_unread_and_cut():
    actual = read_passage("one " + "more " * 99, (Token("one", 0, 3),))
    html = marked_passage(actual, choose(actual, np.ones(1), np.ones(1), Amount(1)), np.ones(1))
    unread = re.search(r'class="unread">(.*?)</span>', html)
    assert unread
    assert len(unread[1]) == UNREAD_CHARACTERS + 1


def test_tags_are_balanced_and_themes_differ():
    html = drawn("One two. Three", [1, 2, 3], Amount(1))
    for tag in ("div", "span", "bdi", "i"):
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")
    assert drawn("One two", [1, 2], Amount(1), theme=LIGHT) != drawn("One two", [1, 2], Amount(1), theme=DARK)


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
