"""Start × end: how likely each span is."""

import re

import numpy as np

from attnviz.analysis.answer_attention import joint
from attnviz.figures.answer_spans import joint_matrix
from attnviz.text.words import Span
from tests.factories import typed


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
