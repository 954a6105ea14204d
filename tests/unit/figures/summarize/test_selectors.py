"""The table of ways, and the heads' shares."""

import re

import numpy as np

from attnviz.analysis.summarize.rouge import Rouge
from attnviz.figures.summarize.selectors import Row, heads_agreement, ways_table
from attnviz.figures.theme import DARK


def test_a_row_a_way_and_figures_only_with_a_reference():
    rows = [Row("First", "A <b>.", "A مرحبا"), Row("Random & co", "C.", "C")]
    table = ways_table(rows, chosen="First")
    assert re.findall(r"<td>([^<]*)</td>", table) == ["First", "Random &amp; co"]
    assert "A &lt;b&gt;." in table
    assert "ROUGE" not in table
    assert table.count("class=chosen") == 1


def test_the_best_of_every_column_stands_out():
    rows = [Row("a", "", "", Rouge(0.5, 0.0, 0.125)), Row("b", "", "", Rouge(0.25, 0.0, 0.5))]
    cells = re.findall(r'<td class="(figure(?: best)?)">([\d.]+)<', ways_table(rows))
    assert cells == [("figure best", "50.0"), ("figure", "0.0"), ("figure", "12.5"), ("figure", "25.0"), ("figure", "0.0"),
                     ("figure best", "50.0")]  # fmt: skip


def test_every_head_has_its_share_and_a_place_to_click():
    shares = np.linspace(0, 1, 15).reshape(3, 5)
    figure = heads_agreement(shares, selected=(2, 1), theme=DARK)
    cells, targets = figure.data
    np.testing.assert_array_equal(cells.z, shares)
    assert cells.text[0][1] == "7"
    place = list(zip(targets.y, targets.x, strict=True)).index((2, 1))
    assert targets.customdata[place] == "L2·H1"
    assert targets.text[place] == f"{shares[2, 1]:.1%}"
    (shape,) = figure.layout.shapes
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (0.5, 1.5, 1.5, 2.5)
    (whole,) = heads_agreement(shares, selected=(0, None)).layout.shapes
    assert (whole.x0, whole.x1) == (-0.5, 4.5)
