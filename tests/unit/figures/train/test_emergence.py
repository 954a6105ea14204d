"""Emergence drawn: cells are coloured by their weights, nothing that is typed becomes markup, curves stay in their frame."""

import re

import numpy as np
import pytest

from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.train.emergence import Curve, Held, curves, examples

HOSTILE = ("<script>", "</script>", "a&b", '"', "مرحبا", "😀", "中文")


def held(source, target, written):
    weights = np.random.default_rng(3).dirichlet(np.ones(len(source)), len(target)).astype(np.float32)
    sure = np.zeros(weights.shape, dtype=bool)
    sure[0, 1] = True
    possible = sure.copy()
    possible[1, [0, 2]] = True
    return Held(tuple(source), tuple(target), tuple(written), weights, sure, possible)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_cells_are_the_weights_row_by_row_and_then_the_truth(theme):
    each = held("abcde", "xyz", "xyq")
    fills = re.findall(r'<rect [^>]*fill="(#\w+)"', examples([each], theme=theme))
    assert fills[:15] == [theme.colour(float(weight)) for weight in each.weights.flat]
    true = np.where(each.sure, 1.0, np.where(each.possible, 0.35, 0.0))
    assert fills[15:] == [theme.colour(float(value)) for value in true.flat]


def test_a_wrong_token_is_marked_and_a_right_one_is_not():
    drawn = examples([held("abcde", "xyz", "xyq")])
    assert re.findall(r'class="(right|wrong)">(\w)', drawn) == [("right", "x"), ("right", "y"), ("wrong", "q")]
    assert "2 of 3 tokens right" in drawn


def test_what_is_typed_is_escaped():
    drawn = examples([held(HOSTILE, HOSTILE[:3], HOSTILE[2:5])])
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
    assert "a&amp;b" in drawn
    assert "<b>" not in curves([Curve("<b>", "<b>", ((0, 1.0),))], steps=7, at=0)


def test_a_curve_runs_from_its_first_step_to_where_it_is_and_stays_in_its_frame():
    drawn = curves([Curve("loss", "2.00", ((0, 4.0), (5, 2.0), (10, 0.0)), top=4.0)], steps=20, at=5)
    assert re.search(r'points="([^"]*)"', drawn)[1] == "0.00,0.00 25.00,32.00 50.00,64.00"
    assert 'x1="25.00"' in drawn
