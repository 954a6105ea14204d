"""The marked passage: every token once, as typed, its spans around the right ones, its bars as high as their values."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from attnviz.analysis.answer_attention import joint
from attnviz.figures.answer_spans import BAR_PIXELS, MOST_DRAWN, Bars, joint_matrix, marked_answer, question_buttons
from attnviz.figures.theme import DARK, LIGHT
from attnviz.text.words import Span
from tests.factories import special, typed

HOSTILE = '<script>alert(1)</script> a&b "q" مرحبا 😀 中文'


class Marks(HTMLParser):
    """The text of every marked span, best first, without its rank."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(dict(attrs).get("data-rank") or dict(attrs).get("class") or tag)

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for rank in self.open:
            if rank.isdecimal() and "rank" not in self.open:
                self.texts[rank] = self.texts.get(rank, "") + data


def test_the_best_span_is_marked_and_the_others_are_numbered():
    tokens = typed("one two three four five")
    bars = [Bars("starts", np.array([0.1, 0.4, 0, 0.2, 0])), Bars("ends", np.array([0.0, 0, 0.8, 0, 0.2]))]
    html = marked_answer("one two three four five", tokens, [Span(1, 2, 0.5), Span(4, 4, 0.001)], bars)
    assert Marks(html).texts == {"1": "two three", "2": "five"}
    assert 'class="span best" data-first data-rank="1"' in html
    assert "2 · &lt;1\xa0%" in html
    heights = [float(height) for height in re.findall(r'class="bar0" style="height:([\d.]+)px', html)]
    assert heights == pytest.approx([BAR_PIXELS * share for share in (0.125, 0.5, 0, 0.25, 0)], abs=0.06)
    values = [float(value) for value in re.findall(r'class="bar1"[^>]*data-value="([\d.]+)"', html)]
    assert values == [0, 0, 0.8, 0, 0.2]
    assert "best" not in marked_answer("one two", typed("one two"), [Span(0, 0, 0.1)], bars, declined=True)


def test_hostile_text_is_escaped_and_tags_are_balanced():
    tokens = typed(HOSTILE)
    html = marked_answer(HOSTILE, tokens, [Span(1, 2, 0.5), Span(4, 5, 0.1)], [Bars("<b>", np.ones(len(tokens)))], theme=DARK)
    html += question_buttons((special("<s>"), *tokens), np.linspace(0, 1, len(tokens) + 1), chosen=2)
    assert "<script>" not in html
    assert "<s>" not in html
    assert "<b>" not in html
    assert html.count("<bdi") == 2 * len(tokens) + 1
    for tag in ("div", "span", "bdi", "i", "button"):
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")


def test_of_a_book_the_part_around_the_answer_is_drawn():
    tokens = typed("word " * 9_000)
    bars = [Bars("starts", np.zeros(9_000))]
    html = marked_answer("word " * 9_000, tokens, [Span(6_000, 6_003, 0.9), Span(4_799, 4_801, 0.01)], bars)
    assert MOST_DRAWN - 9 <= html.count('class="unit"') <= MOST_DRAWN
    assert html.count('class="unread"') == 2
    assert html.count('class="span best"') == 1
    assert len(re.findall(r"<span[ >]", html)) == html.count("</span>")


def test_a_questions_words_are_shaded_by_their_shares():
    html = question_buttons(typed("who sings"), np.array([0.25, 0.5]), chosen=1)
    assert re.findall(r'class="(word[^"]*)" data-pick="(\d)" data-share="([\d.]+)"', html) == [
        ("word", "0", "0.250000"), ("word chosen", "1", "0.500000"),
    ]  # fmt: skip
    assert LIGHT.colour(0.5) in html
    assert LIGHT.colour(1.0) in question_buttons(typed("who sings"), np.array([0.25, 0.5]), full_scale=False)


def test_the_table_has_starts_down_and_ends_across():
    tokens = typed("a b c d e")
    start, end = np.array([0.0, 3, 1, 0, 0]), np.array([0.0, 0, 1, 4, 0])
    table = joint(tokens, start, end, [Span(1, 3, 0.5), Span(0, 0, 0.01)], limit=2)
    drawn = joint_matrix(table)
    titles = re.findall(r"<title>(\w) → (\w): ([^<]*)</title>", drawn)
    cells = {(start, end): value for start, end, value in titles}
    assert (cells["d", "a"], cells["b", "d"]) == ("masked", "0.5000")
    # What the best is picks nothing, and the best are numbered in their cells.
    assert "data-pick" not in drawn
    assert "b → d · probability 0.5000" in drawn
    assert re.findall(r'class="rank"[^>]*>(\d)<', drawn) == ["1", "2"]
