"""The heatmap: its numbers are the map's, its words are as typed, its cells stand where they should."""

import html
import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.analysis.view import View, head_matrix
from attnviz.core.trace import AttentionMap, DenseWeights, Token
from attnviz.figures.explorer.marks import HeadMarks
from attnviz.figures.heatmap import CLICKABLE_CELLS, MAX_LABEL_LENGTH, Look, draw_matrix, heatmap
from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.tokens import label
from tests.factories import HOSTILE, given_map, make_map, numbered, sentence, special, typed


def tokens(*texts: str) -> tuple[Token, ...]:
    return tuple(Token(text, 0, len(text)) for text in texts)


def cells(figure: go.Figure) -> Any:
    """The trace of the weights."""
    return next(trace for trace in figure.data if trace.type == "heatmap" and trace.showscale is not False)


def masked(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "heatmap" and trace.showscale is False]


def targets(figure: go.Figure) -> list[Any]:
    return [trace for trace in figure.data if trace.type == "scatter"]


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


def test_the_selected_row_and_column_are_outlined():
    figure = heatmap(make_map(numbered(5), numbered(7)), layer=0, head=0, look=Look(selected=(3, 6)))
    boxes = [(shape.x0, shape.x1, shape.y0, shape.y1) for shape in figure.layout.shapes]
    assert boxes == [(-0.5, 6.5, 2.5, 3.5), (5.5, 6.5, -0.5, 4.5)]
    for axis, index in ((figure.layout.yaxis, 3), (figure.layout.xaxis, 6)):
        marked = [position for position, text in zip(axis.tickvals, axis.ticktext, strict=True) if LIGHT.accent in text]
        assert marked == [index]
        assert f">t{index}<" in axis.ticktext[index]
    assert not heatmap(make_map(numbered(5)), layer=0, head=0).layout.shapes


@pytest.mark.parametrize(("n_queries", "n_keys"), [(3, 11), (11, 3), (3, 3), (2, 17)])
def test_a_small_picture_has_every_label(n_queries, n_keys):
    figure = heatmap(make_map(numbered(n_queries), numbered(n_keys)), layer=0, head=0)
    assert len(figure.layout.xaxis.tickvals) == n_keys
    assert len(figure.layout.yaxis.tickvals) == n_queries


@pytest.mark.parametrize(("n_queries", "n_keys", "selected"), [(211, 211, (101, 57)), (11, 211, (5, 103)), (211, 11, (103, 5))])
def test_many_labels_are_thinned_and_the_selected_one_stays(n_queries, n_keys, selected):
    figure = heatmap(make_map(numbered(n_queries), numbered(n_keys)), layer=0, head=0, look=Look(selected=selected))
    pixels = 720 / 211  # of a cell: all are square, and the longer side sets their size
    for axis, index in ((figure.layout.yaxis, selected[0]), (figure.layout.xaxis, selected[1])):
        assert index in axis.tickvals
        gaps = np.diff(axis.tickvals) * pixels
        assert (gaps > 19).all()
        assert (gaps < 60).all()
        assert all(f"t{position}" in text for position, text in zip(axis.tickvals, axis.ticktext, strict=True))


def test_a_click_lands_on_its_cell():
    attention = make_map(numbered(5), numbered(7))
    weights = attention.weights(0, 1)
    (trace,) = targets(heatmap(attention, layer=0, head=1))
    cell = 0
    for query in range(5):
        for key in range(7):
            assert (trace.y[cell], trace.x[cell]) == (query, key)
            assert list(trace.customdata[cell][:2]) == [f"<b>t{query}</b>", f"<b>t{key}</b>"]
            assert trace.customdata[cell][2] == f"weight <b>{weights[query, key]:.4f}</b>"
            cell += 1
    assert cell == len(trace.x)
    assert trace.marker.opacity == trace.selected.marker.opacity == trace.unselected.marker.opacity == 0


def test_hovering_a_masked_cell_says_so():
    (trace,) = targets(heatmap(make_map(numbered(3), causal=True), layer=0, head=0))
    assert [word == "masked" for word in trace.customdata[:, 2]] == (~np.tri(3, dtype=bool)).ravel().tolist()


@pytest.mark.parametrize(("side", "clickable"), [(80, True), (81, False)])
def test_large_pictures_have_no_markers(side, clickable):
    assert (side**2 <= CLICKABLE_CELLS) is clickable
    figure = heatmap(make_map(numbered(side), layers=1, heads=1), layer=0, head=0)
    assert bool(targets(figure)) is clickable
    assert (cells(figure).customdata is not None) is clickable


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


def test_what_is_edited_looks_switched_off():
    tokens = tuple(Token(word, 0, 1) for word in "abc")
    attention = AttentionMap("encoder", tokens, tokens, DenseWeights((np.full((1, 3, 3), 1 / 3),)))
    matrix = head_matrix(attention, layer=0, head=0)
    edited = HeadMarks(cells=((2, 1, "cut"), (0, 2, "set")), columns=(0,))
    faded, cut, stroke, ring = draw_matrix(matrix, Look(edited=edited)).layout.shapes
    assert [(each.x0, each.x1, each.y0, each.y1) for each in (faded, cut)] == [(-0.5, 0.5, -0.5, 2.5), (0.5, 1.5, 1.5, 2.5)]
    assert (stroke.type, round(stroke.x0), round(stroke.y0), ring.line.dash) == ("line", 1, 2, "dot")
    assert len(draw_matrix(matrix, Look(edited=HeadMarks(off=True))).layout.shapes) == 3
    assert not draw_matrix(matrix, Look()).layout.shapes
