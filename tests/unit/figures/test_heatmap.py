"""The heatmap: its numbers are the map's, its words are as typed, its cells stand where they should."""

import html
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.analysis.head_view import View, head_matrix
from attnviz.core.trace import Token
from attnviz.figures.heatmap import MAX_LABEL_LENGTH, Look, heatmap
from attnviz.figures.html import label
from attnviz.figures.theme import DARK, LIGHT
from tests.factories import HOSTILE, given_map, make_map, numbered, sentence, special, typed


def tokens(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(text, 0, len(text)) for text in texts)


def cells(figure: go.Figure) -> Any:
    """The trace of the weights."""
    return next(trace for trace in figure.data if trace.type == "heatmap" and trace.showscale is not False)


def masked(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "heatmap" and trace.showscale is False]


@pytest.mark.parametrize(("n_queries", "n_keys"), [(7, 7), (5, 11), (13, 3)])
def test_the_colours_are_the_maps_weights(n_queries, n_keys):
    attention = make_map(numbered(n_queries), numbered(n_keys))
    figure = heatmap(attention, layer=1, head=2)
    np.testing.assert_array_equal(cells(figure).z, attention.weights(1, 2))
    assert list(cells(figure).x) == list(figure.layout.xaxis.tickvals) == list(range(n_keys))
    assert list(cells(figure).y) == list(figure.layout.yaxis.tickvals) == list(range(n_queries))
    # The first query stands above, every cell is square and wholly within.
    assert figure.layout.yaxis.range == (n_queries - 0.5, -0.5)
    assert figure.layout.xaxis.range == (-0.5, n_keys - 0.5)
    assert (figure.layout.yaxis.scaleanchor, figure.layout.yaxis.scaleratio) == ("x", 1)


def test_a_view_and_the_mean_of_heads_are_drawn():
    attention = make_map(sentence("un|do it"))
    view = View(words=True, hide_special=True)
    figure = heatmap(attention, layer=0, head=None, view=view)
    np.testing.assert_array_equal(cells(figure).z, head_matrix(attention, layer=0, head=None, view=view).weights)
    assert figure.layout.xaxis.ticktext == ("undo", "it")


@pytest.mark.parametrize("full_scale", [True, False])
def test_colours_of_a_long_text_end_where_all_but_a_hundredth_of_its_weights_lie(full_scale):
    attention = make_map(numbered(131))
    drawn = cells(heatmap(attention, layer=1, head=2, look=Look(full_scale=full_scale)))
    limit = max(np.sort(attention.weights(1, 2), axis=None)[int(np.ceil(0.99 * 131**2)) - 1], 5 / 131)
    assert drawn.zmax == pytest.approx(limit)
    assert drawn.colorbar.ticktext == ("0", f"{limit:.2g} or more")
    np.testing.assert_array_equal(drawn.z, attention.weights(1, 2))


def test_words_stand_as_typed_one_column_each():
    figure = heatmap(make_map(tokens(*HOSTILE)), layer=0, head=0)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert [html.unescape(text) for text in axis.ticktext] == list(HOSTILE)
        assert not any(mark in text for text in axis.ticktext for mark in "<>")
        assert axis.ticktext[HOSTILE.index("a&b")] == "a&amp;b"
        assert axis.ticktext[HOSTILE.index("&lt;")] == "&amp;lt;"
    assert len(set(cells(figure).x)) == len(HOSTILE)


def test_nothing_typed_is_an_element_anywhere_in_the_figure():
    hostile = tuple(Token(text, 0, 1, piece=f"##{text}") for text in HOSTILE)
    for count in (1, 10):  # names kept with every cell, then with the axes
        document = json.dumps(json.loads(heatmap(make_map(hostile * count), layer=0, head=0).to_json()), ensure_ascii=False)
        assert "<script" not in document
        assert "<s>" not in document
        assert "&lt;script&gt;" in document


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\n", "␣"), ("a\nb", "a↵b"), ("a\r\nb", "a↵b"), ("a\rb", "a↵b"), ("\ta", "⇥a"), (" ", "␣"), ("", "␣"), (" a", " a")],
)
def test_white_space_can_be_seen(text, shown):
    assert label(Token(text, 0, len(text))) == {"\n": "↵"}.get(text, shown)


def test_a_long_word_is_cut_in_its_label_only():
    figure = heatmap(make_map(tokens("a" * 100 + "<", "b")), layer=0, head=0)
    assert figure.layout.yaxis.ticktext == ("a" * (MAX_LABEL_LENGTH - 1) + "…", "b")
    assert "a" * 100 + "&lt;" in cells(figure).customdata[0][0][0]


def test_masked_cells_have_a_trace_of_their_own():
    attention = make_map(numbered(5), causal=True)
    figure = heatmap(attention, layer=0, head=0, look=Look(theme=DARK))
    (hidden,) = masked(figure)
    assert {colour for _, colour in hidden.colorscale} == {DARK.masked}
    np.testing.assert_array_equal(np.isnan(hidden.z), np.tri(5, dtype=bool))
    np.testing.assert_array_equal(np.isnan(cells(figure).z), ~np.tri(5, dtype=bool))
    assert cells(figure).hoverongaps is False
    np.testing.assert_array_equal(np.nan_to_num(cells(figure).z), attention.weights(0, 0))


def test_a_zero_is_not_masked():
    figure = heatmap(given_map([[1, 0], [0, 1]], numbered(2)), layer=0, head=0)
    assert masked(figure) == []
    np.testing.assert_array_equal(cells(figure).z, [[1, 0], [0, 1]])


def test_the_scale_is_fixed_unless_the_picture_sets_it():
    attention = given_map([[0.5, 0.5], [0.25, 0.75]], numbered(2))
    for full, highest in ((True, 1), (False, 0.75)):
        trace = cells(heatmap(attention, layer=0, head=0, look=Look(full_scale=full)))
        assert (trace.zmin, trace.zmax) == (0, highest)
    assert [tuple(stop) for stop in trace.colorscale] == [tuple(stop) for stop in LIGHT.plotly_scale]


def test_the_scale_of_an_empty_picture_is_not_empty():
    tokens = (*sentence("a"), *typed("b", segment=1))
    attention = given_map(np.eye(4)[[0] * 4], tokens)
    trace = cells(heatmap(attention, layer=0, head=0, view=View(between="second-second"), look=Look(full_scale=False)))
    assert trace.zmax > trace.zmin


@pytest.mark.parametrize(("n_queries", "n_keys"), [(3, 11), (11, 3), (3, 3), (2, 17)])
def test_a_small_picture_has_every_label(n_queries, n_keys):
    figure = heatmap(make_map(numbered(n_queries), numbered(n_keys)), layer=0, head=0)
    assert len(figure.layout.xaxis.tickvals) == n_keys
    assert len(figure.layout.yaxis.tickvals) == n_queries


@pytest.mark.parametrize(("n_queries", "n_keys"), [(211, 211), (11, 211), (211, 11)])
def test_many_labels_are_thinned(n_queries, n_keys):
    figure = heatmap(make_map(numbered(n_queries), numbered(n_keys)), layer=0, head=0)
    pixels = 720 / 211  # of a cell: all are square, and the longer side sets their size
    for axis in (figure.layout.yaxis, figure.layout.xaxis):
        gaps = np.diff(axis.tickvals) * pixels
        assert (gaps > 19).all()
        assert (gaps < 60).all()
        assert all(f"t{position}" in text for position, text in zip(axis.tickvals, axis.ticktext, strict=True))


def test_hovering_names_tokens_with_their_pieces():
    pieces = (Token("un", 0, 2, piece="un"), Token("do", 2, 4, piece="##do"), Token("<", 5, 6, piece="<unk>"), special("<s>"))
    figure = heatmap(make_map(pieces), layer=0, head=0)
    names = ["<b>un</b>", "<b>do</b> (##do)", "<b>&lt;</b> (&lt;unk&gt;)", "<b>&lt;s&gt;</b>"]
    assert cells(figure).customdata[:, 1, 0].tolist() == names
    assert cells(figure).customdata[1, :, 1].tolist() == names
    large = heatmap(make_map(pieces * 23), layer=0, head=0)
    for axis in (large.layout.xaxis, large.layout.yaxis):
        assert [axis.labelalias[str(index)] for index in range(92)] == names * 23


def test_a_head_of_512_tokens_is_light():
    figure = heatmap(make_map(numbered(512), layers=1, heads=1), layer=0, head=0)
    assert len(figure.to_json()) < 3_000_000


@pytest.mark.parametrize(("n_queries", "height"), [(1, 720), (7, 720), (211, 720), (211, 100), (3, 500)])
def test_the_height_follows_the_text_up_to_a_limit(n_queries, height):
    figure = heatmap(make_map(numbered(n_queries), layers=1, heads=1), layer=0, head=0, look=Look(height=height))
    least = 120 + figure.layout.margin.t + figure.layout.margin.b
    assert least <= figure.layout.height <= max(height, least)
    if n_queries == 7:
        assert figure.layout.height == 7 * 40 + figure.layout.margin.t + figure.layout.margin.b
