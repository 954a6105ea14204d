"""Start × end: how likely each span is."""

import numpy as np
import pytest

from attnviz.analysis.answer_attention import joint
from attnviz.figures.answer_spans import describe_passage, joint_matrix
from attnviz.figures.theme import LIGHT
from attnviz.text.spans import Span
from tests.factories import typed


def test_the_table_has_starts_down_and_ends_across():
    tokens = typed("a b c d e")
    start, end = np.array([0.0, 3, 1, 0, 0]), np.array([0.0, 0, 1, 4, 0])
    table = joint(tokens, start, end, [Span(1, 3, 0.5), Span(0, 0, 0.01)], limit=2)
    drawn = joint_matrix(table).record(LIGHT)
    cells = [(start, end) for start in drawn["rows"] for end in drawn["columns"]]
    assert drawn["masked"][cells.index(("d", "a"))]
    assert drawn["weights"][cells.index(("b", "d"))] == pytest.approx(0.5)
    # The best are numbered in their cells, and the first of them is read.
    assert [drawn["rows"][start] + drawn["columns"][end] for start, end in drawn["ranks"]] == ["bd", "aa"]
    assert drawn["selected"] == drawn["ranks"][0]


def test_probabilities_of_a_millionth_keep_their_proportions():
    tokens, likely, best = typed("a b c"), np.array([4e-8, 1e-8, 1e-9]), Span(0, 1, 4e-8)
    bars = describe_passage(tokens, [best], likely, likely[::-1], declined=True)["bars"]
    assert [each["values"] for each in bars] == [pytest.approx(likely, rel=1e-5), pytest.approx(likely[::-1], rel=1e-5)]
    table = joint(tokens, np.log(likely), np.log(likely), [best], limit=2)
    assert max(joint_matrix(table).record(LIGHT)["weights"]) == pytest.approx(1.6e-7, rel=1e-5)


def test_a_probability_is_rounded_once_where_it_is_written():
    """94 % in a headline is 94 % beside the words that answer, too."""
    probability = 0.94495
    drawn = describe_passage(typed("a b"), [Span(0, 1, probability)], np.ones(2), np.ones(2), declined=False)
    assert drawn["spans"] == [[0, 1, probability]]
