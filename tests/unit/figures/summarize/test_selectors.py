"""The table of ways, and the heads' shares."""

import re

import numpy as np

from attnviz.analysis.summarize.rouge import Rouge
from attnviz.figures.summarize.selectors import Row, heads_agreement, selectors_table
from attnviz.figures.theme import DARK


def test_a_row_is_a_way_that_can_be_chosen_and_the_chosen_one_is_marked():
    rows = [Row("first", "First", "A <b>.", "A مرحبا"), Row("random", "Random & co", "C.", "C")]
    table = selectors_table(rows, chosen="first")
    assert re.findall(r'<button data-pick="(\w+)" aria-pressed="(\w+)">([^<]*)<', table) == [
        ("first", "true", "First"), ("random", "false", "Random &amp; co"),
    ]  # fmt: skip
    assert "A &lt;b&gt;." in table
    assert re.findall(r'<tr data-pick="(\w+)" class=chosen>', table) == ["first"]


def figures(table):
    return re.findall(r'<td class="(figure(?: best)?)">([\d.–]+)<', table)


def test_without_a_reference_the_figures_are_the_measured_ones():
    table = selectors_table(
        [Row("a", "a", "", "", measured=39.81), Row("b", "b", "", ""), Row("c", "c", "", "", measured=28.06)]
    )
    assert re.findall(r"<th class=figure>([^<]*)", table) == ["ROUGE-1"]
    assert figures(table) == [("figure best", "39.8"), ("figure", "–"), ("figure", "28.1")]
    assert figures(selectors_table([Row("a", "a", "", "")])) == []


def test_the_best_of_every_column_stands_out():
    rows = [Row("a", "a", "", "", Rouge(0.5, 0.0, 0.125), measured=1.0), Row("b", "b", "", "", Rouge(0.25, 0.0, 0.5))]
    assert figures(selectors_table(rows)) == [
        ("figure best", "50.0"), ("figure", "0.0"), ("figure", "12.5"), ("figure", "25.0"), ("figure", "0.0"),
        ("figure best", "50.0"),
    ]  # fmt: skip


def test_every_head_has_its_share_and_a_place_to_click():
    shares = np.linspace(0, 1, 15).reshape(3, 5)
    figure = heads_agreement(shares, selected=(2, 1), theme=DARK)
    cells, targets = figure.data
    np.testing.assert_array_equal(cells.z, shares)
    assert cells.text[0][1] == "7"
    place = list(zip(targets.y, targets.x, strict=True)).index((2, 1))
    assert targets.customdata[place] == "L2·H1"
    assert targets.text[place] == f"{100 * shares[2, 1]:.1f}\xa0%"
    (shape,) = figure.layout.shapes
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (0.5, 1.5, 1.5, 2.5)
    (whole,) = heads_agreement(shares, selected=(0, None)).layout.shapes
    assert (whole.x0, whole.x1) == (-0.5, 4.5)
