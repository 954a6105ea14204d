"""The token strip, read as a browser reads it."""

import numpy as np
import pytest

from attnviz.analysis.view import View, head_matrix
from attnviz.core.trace import Token
from attnviz.figures.theme import DARK, LIGHT, ink_on
from attnviz.figures.tokens import token_strip
from tests.factories import HOSTILE, dot_product_map, make_map, numbered, pair, sentence, special, typed
from tests.markup import Element, elements


def spans_of(attention, query, theme=LIGHT, **view) -> list[Element]:
    """The strip's elements without the box around them."""
    strip = elements(token_strip(head_matrix(attention, layer=0, head=1, view=View(**view)), query=query, theme=theme))
    assert strip[0].tag == "div"
    assert {each.tag for each in strip[1:]} <= {"span", "button"}
    return strip[1:]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("query", [0, 3, 4])
def test_each_token_has_the_colour_of_its_weight(theme, query):
    attention = make_map(numbered(5), numbered(7))
    spans = spans_of(attention, query, theme)
    weights = attention.weights(0, 1)[query]
    assert [span.text for span in spans] == [f"t{index}" for index in range(7)]
    for span, weight in zip(spans, weights, strict=True):
        assert span.attributes["style"] == f"background:{theme.colour(float(weight))};color:{theme.ink(float(weight))}"
        assert span.attributes["title"] == f"{weight:.4f}"
    assert len({span.attributes["style"] for span in spans}) > 3


def test_tokens_stand_as_typed_and_open_no_element():
    spans = spans_of(make_map([Token(text, 0, 1) for text in HOSTILE]), 0)
    assert [span.text for span in spans] == list(HOSTILE)
    assert all(span.attributes["dir"] == "auto" for span in spans)


def test_a_word_that_asks_picks_its_row_and_others_cannot_be_picked():
    own = spans_of(make_map([special("[CLS]"), *numbered(4)]), 2, hide_special=True)
    assert [span.attributes.get("data-pick") for span in own] == ["0", "1", "2", "3"]
    across = spans_of(make_map(numbered(5), numbered(7)), 3)
    assert not any("data-pick" in span.attributes for span in across)


@pytest.mark.parametrize(
    ("texts", "way"),
    [
        (["مرحبا", "hello"], "rtl"),
        (["hello", "مرحبا"], "ltr"),
        (["שלום", "1"], "rtl"),
        (["7", "!", "مرحبا"], "rtl"),
        (["1"], "ltr"),
    ],
)
def test_the_strip_runs_the_way_its_text_is_read(texts, way):
    attention = make_map([special("[CLS]"), *(Token(text, 0, 1) for text in texts)])
    assert f'class="attnviz-tokens" dir="{way}"' in token_strip(head_matrix(attention, layer=0, head=1), query=0)


def test_a_line_break_is_seen_and_breaks_nothing():
    assert [span.text for span in spans_of(make_map([Token("\n", 0, 1), Token("a", 1, 2)]), 0)] == ["↵", "a"]


OUTLINED = {
    "a token": (make_map(numbered(5)), {}, [3]),
    "of repeated words": (make_map(typed("the cat the cat the")), {}, [3]),
    "without special tokens": (make_map(sentence("a b c d")), {"hide_special": True}, [3]),
    "beside a sink": (dot_product_map(numbered(5), sink=np.ones(6)), {}, [3]),
    "of another text": (make_map(numbered(5), numbered(7)), {}, []),
    "of the same words in another text": (make_map(numbered(5), numbered(5)), {}, []),
    "of another sentence": (make_map(pair("a b c", "d")), {"between": "first-second"}, []),
}


@pytest.mark.parametrize(("attention", "view", "outlined"), OUTLINED.values(), ids=OUTLINED)
def test_the_query_is_outlined(attention, view, outlined):
    spans = spans_of(attention, 3, **view)
    assert [index for index, span in enumerate(spans) if "query" in span.attributes["class"].split()] == outlined


def test_special_tokens_are_smaller():
    spans = spans_of(make_map(sentence("a b")), 1)
    assert [span.attributes["class"] for span in spans] == ["special", "query", "", "special"]
    assert spans_of(make_map([special("<s>"), *typed("a")]), 0)[0].attributes["class"] == "query special"


def test_a_masked_token_is_not_one_of_weight_zero():
    spans = spans_of(make_map(numbered(5), causal=True), 2)
    for span in spans[3:]:
        assert span.attributes["title"] == "masked"
        assert span.attributes["style"] == f"background:{LIGHT.masked};color:{ink_on(LIGHT.masked)}"
    assert all(LIGHT.masked not in span.attributes["style"] for span in spans[:3])
