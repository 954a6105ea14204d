"""BertViz's documents: what is in the data they draw, and that nothing in them asks the network or runs a token."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from attnviz import AttnvizError, Token
from attnviz.analysis.head_view import View
from attnviz.core.errors import TraceError
from attnviz.figures.bertviz_views import TooManyTokensError, head_view, model_view
from attnviz.figures.theme import DARK, LIGHT
from tests.factories import HOSTILE, make_map, numbered
from tests.markup import elements

VIEWS = pytest.mark.parametrize("view", [head_view, model_view])


def tokens(*texts: str, segment: int = 0) -> tuple[Token, ...]:
    return tuple(Token(text, 0, len(text), segment=segment) for text in texts)


def parameters(document: str) -> dict:
    actual = re.search(r"<script type=\"application/json\" id=\"parameters\">(\{.*\})</script>", document)
    assert actual
    return json.loads(actual[1])


@VIEWS
@pytest.mark.parametrize(("kind", "n_queries", "n_keys"), [("encoder", 5, 5), ("decoder", 5, 5), ("cross", 5, 7)])
def test_the_data_is_the_map(view, kind, n_queries, n_keys):
    attention = make_map(numbered(n_queries), numbered(n_keys) if kind == "cross" else None, causal=kind == "decoder")
    (part,) = parameters(view(attention))["attention"]
    expected = np.stack([attention.layer_weights(layer) for layer in range(2)])
    assert np.shape(part["attn"]) == (2, 3, n_queries, n_keys)
    np.testing.assert_allclose(part["attn"], expected, atol=5.1e-5, rtol=0)
    assert part["left_text"] == [token.text for token in attention.queries]
    assert part["right_text"] == [token.text for token in attention.keys]


@VIEWS
def test_tokens_stand_as_typed_and_open_no_element(view):
    texts = [*HOSTILE, "\u2028"]
    attention = make_map(tokens(*texts))
    document = view(attention)
    assert parameters(document)["attention"][0]["left_text"] == texts
    plain = make_map(numbered(len(texts)))
    assert [each.tag for each in elements(document)] == [each.tag for each in elements(view(plain))]
    assert "\u2028" not in document


@VIEWS
def test_nothing_is_fetched(view):
    document = view(make_map(numbered(5)))
    read = elements(document)
    assert not [each for each in read if each.attributes.keys() & {"src", "href"}]
    assert [each.tag for each in read].count("script") == document.count("</script") == 5
    assert "default-src 'none'" in document


@VIEWS
def test_a_pair_has_a_menu_of_sentences(view):
    pair = (*tokens("a", "b", "c"), *tokens("d", "e", segment=1))
    attention = make_map(pair)
    document = view(attention, view=View(between="second-first"))
    drawn = parameters(document)
    names = [part["name"] for part in drawn["attention"]]
    assert names == ["All", "First to first", "First to second", "Second to first", "Second to second"]
    assert [np.shape(part["attn"])[2:] for part in drawn["attention"]] == [(5, 5), (3, 3), (3, 2), (2, 3), (2, 2)]
    assert drawn["default_filter"] == "3"
    assert '<option value="3" selected>Second to first</option>' in document
    second_to_first = drawn["attention"][3]
    assert (second_to_first["left_text"], second_to_first["right_text"]) == (["d", "e"], ["a", "b", "c"])
    np.testing.assert_allclose(second_to_first["attn"][1], attention.layer_weights(1)[:, 3:, :3], atol=5.1e-5, rtol=0)


@VIEWS
def test_one_sentence_has_no_menu_of_sentences(view):
    assert 'id="filter"' not in view(make_map(numbered(5)))


def test_a_view_hides_special_tokens():
    row = (Token("[CLS]", 0, 0, special=True), *numbered(3))
    (part,) = parameters(head_view(make_map(row), view=View(hide_special=True)))["attention"]
    assert part["left_text"] == part["right_text"] == ["t0", "t1", "t2"]
    assert np.shape(part["attn"]) == (2, 3, 3, 3)


def test_the_head_view_opens_at_a_layer():
    attention = make_map(numbered(5))
    assert parameters(head_view(attention, layer=1))["layer"] == 1
    with pytest.raises(TraceError, match="no layer 2"):
        head_view(attention, layer=2)


@VIEWS
def test_a_css_variables_the_page(view):
    attention = make_map(numbered(3), layers=1, heads=2)
    for theme in (LIGHT, DARK):
        assert f"--background:{theme.background};" in view(attention, theme=theme)


@VIEWS
@pytest.mark.parametrize(("layers", "count", "limit"), [(1, 101, "100 tokens"), (151, 100, "1,500,000 lines")])
def test_too_many_tokens_get_one_sentence_that_says_why(view, layers, count, limit):
    attention = make_map(numbered(count), layers=layers, heads=1)
    with pytest.raises(TooManyTokensError, match=limit) as caught:
        view(attention)
    assert isinstance(caught.value, AttnvizError)
    assert "open Grid" in str(caught.value)


def test_neither_torch_nor_matplotlib_is_imported():
    script = """
import sys, numpy
from attnviz import AttentionMap, Token
from attnviz.figures.bertviz_views import head_view
from attnviz.core.trace import DenseWeights
row = (Token("a", 0, 1),)
head_view(AttentionMap("encoder", row, row, DenseWeights((numpy.ones((1, 1, 1)),))))
print({"torch", "matplotlib", "IPython", "bertviz", "mpld3"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
