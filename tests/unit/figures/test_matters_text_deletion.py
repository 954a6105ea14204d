"""The curve of p(output): every point stands where its number says, and tells it."""

import re

from attnviz.analysis.matters import Removals
from attnviz.figures.matters_text import deletion_figure

CURVE = Removals((0, 3, 7, 10), (0.9, 0.4, 0.25, 0.0), (0.9, 1.0, 0.75, 0.0))


def test_points_stand_where_their_numbers_say():
    drawn = deletion_figure(CURVE, "<rollout>")
    lines = [re.findall(r"([\d.]+),([\d.]+)", line) for line in re.findall(r'points="([^"]*)"', drawn)]
    for line, values in zip(lines, (CURVE.most_first, CURVE.least_first), strict=True):
        assert line == [(f"{10 * gone:.2f}", f"{100 * (1 - p):.2f}") for gone, p in zip(CURVE.gone, values, strict=True)]
    dots = re.findall(r'left:([\d.]+)%;top:([\d.]+)%;[^"]*" title="([^"]*)"', drawn)
    assert dots[1] == ("30.00", "60.00", "3 words masked: 40\xa0%")
    assert len(dots) == 8
    assert "in the order of &lt;rollout&gt;." in drawn


def test_a_text_of_no_word_that_can_go_is_drawn():
    assert deletion_figure(Removals((0,), (0.5,), (0.5,)), "rollout").count("<polyline") == 2
