"""The pictures of what heads cost, on the page and on paper."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from attnviz.core.trace import HeadCosts, RemovalCurve
from attnviz.export import svg_png_pdf, whatif_report
from attnviz.figures.theme import DARK
from attnviz.figures.whatif_grids_and_matrices import cost_grid, heights, random_band, removal_figure, removal_lines
from tests.unit.analysis.test_whatif_comparison_cost_words import COSTS, CURVE


def picks(drawn: str) -> list[str]:
    return re.findall(r'data-pick="([^"]*)"', drawn)


def test_every_head_stands_in_its_layer_or_in_the_order_of_its_cost():
    assert picks(cost_grid(COSTS)) == [
        *("encoder.0.0", "encoder.0.1", "encoder.0.2"),
        *("cross.0.0", "cross.0.1", "cross.0.2", "cross.1.0", "cross.1.1", "cross.1.2"),
    ]
    ordered = picks(cost_grid(COSTS, ordered=True, theme=DARK))
    assert (ordered[0], ordered[1], ordered[-1]) == ("cross.1.2", "cross.0.0", "encoder.0.1")
    assert re.findall(r'data-pick="([^"]*)" aria-pressed="true"', cost_grid(COSTS, chosen=("cross", 1, 0))) == ["cross.1.0"]


def test_a_head_that_is_missed_is_red_and_one_in_the_way_is_blue():
    drawn = cost_grid(COSTS)
    colours = dict(re.findall(r'data-pick="([^"]*)".*?background:(#\w+)', drawn))
    assert colours["cross.1.2"] == "#d55e00"
    assert colours["cross.0.2"] == "#ffffff"
    red, _, blue = (int(colours["encoder.0.1"][at : at + 2], 16) for at in (1, 3, 5))
    assert blue > red


def test_the_curve_is_drawn_between_its_lowest_and_its_highest_cost():
    lines = {name: points for name, _, points in removal_lines(CURVE)}
    assert lines["most important first"][-1] == (1.0, 0.0)
    assert lines["least important first"][0] == (0.0, 1.0)
    assert lines["random order"][1] == (0.5, pytest.approx(1 - 1.3 / 4.3))
    assert random_band(CURVE)[1] == (0.5, pytest.approx(1 - 1.8 / 4.3))
    assert len(random_band(CURVE)) == 6
    assert [text for _, text in heights(CURVE)] == ["0", "1", "2", "3", "4"]
    drawn = removal_figure(CURVE, "nats")
    assert drawn.count("<polyline") == 3
    titles = re.findall(r'title="([^"]*)"', drawn)
    assert titles[: len(CURVE.counts)] == [
        f"{n} head{'' if n == 1 else 's'} off: {cost:.2f}" for n, cost in zip(CURVE.counts, CURVE.most, strict=True)
    ]


def test_a_curve_of_one_head_that_costs_nothing_is_drawn():
    flat = RemovalCurve((1,), np.zeros(1), np.zeros(1), np.zeros((3, 1)))
    assert "polyline" in removal_figure(flat, "nats")
    assert svg_png_pdf.sheet_svg(whatif_report.draw_costs(HeadCosts("nats", 0.0, {"cross": np.zeros((1, 1))}), flat, "one"))


def test_on_paper_no_two_labels_touch():
    wide = HeadCosts("cosine", 0.0, {"encoder": np.linspace(-0.1, 1, 29 * 31).reshape(29, 31)})
    for costs in (COSTS, wide):
        sheet = whatif_report.draw_costs(costs, CURVE, "What each head of <tiny> costs")
        root = ElementTree.fromstring(svg_png_pdf.sheet_svg(sheet))
        texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
        assert "What each head of <tiny> costs" in texts
        boxes = [box(each) for each in sheet.labels]
        for number, one in enumerate(boxes):
            assert one[0] >= 0, sheet.labels[number]
            assert one[2] <= sheet.width + 1, sheet.labels[number]
            assert not any(touch(one, other) for other in boxes[:number]), sheet.labels[number]
    assert svg_png_pdf.sheet_png(whatif_report.draw_costs(COSTS, CURVE, "small"))[:4] == b"\x89PNG"


def box(label):
    from attnviz.export.paper import width_of

    width, height = width_of(label.text) * label.size, label.size
    left = label.x - width * {"start": 0, "middle": 0.5, "end": 1}[label.anchor]
    return left, label.y - height / 2, left + width, label.y + height / 2


def touch(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
