"""Pairs of a score: the largest first, whatever their sign, and nothing lost between them and their sum."""

import numpy as np
import pytest

from attnviz.analysis.compute import PairShares, describe_pairs, rest_of
from attnviz.analysis.wording import plain
from attnviz.core.trace import Token
from attnviz.figures.compute.steps import pairs_table

TOKENS = (Token("the", 0, 3), Token("<b>cat", 4, 10))
VALUES = np.array([[0.25, -2.0, 0.0], [0.5, 3.0, 0.125], [-0.0625, 0.0, 1.0]])
SHARES = PairShares(TOKENS, VALUES, float(VALUES.sum()))


def test_the_largest_pairs_come_first_and_all_others_are_the_rest():
    pairs = SHARES.largest(3)
    assert [(pair.query_giver, pair.key_giver, pair.share) for pair in pairs] == [(1, 1, 3.0), (0, 1, -2.0), (2, 2, 1.0)]
    assert rest_of(SHARES, pairs) == pytest.approx(0.25 + 0.5 + 0.125 - 0.0625)
    assert rest_of(SHARES, SHARES.largest(100)) == pytest.approx(0)
    assert len(SHARES.largest()) == 8


def test_each_side_sums_to_the_score():
    of_query, of_key = SHARES.sides()
    assert of_query.tolist() == [-1.75, 3.625, 0.9375]
    assert of_key.tolist() == [0.6875, 1.0, 1.125]
    assert of_query.sum() == of_key.sum() == SHARES.score


def test_the_sentence_names_score_and_largest_pair():
    said = plain(describe_pairs(SHARES, "L1·H2"))
    assert all(part in said for part in ("L1·H2 scores +2.81", "pair is “<b>cat” × “<b>cat” (+3.00)"))
    assert "“<b>cat” contributes most by way of the query, “<b>cat” by way of the key" in said


def test_the_table_adds_up_and_escapes_what_was_typed():
    drawn = pairs_table(SHARES, most=2)
    assert "<b>cat" not in drawn
    assert "7 other pairs" in drawn
    assert "1 other pair<" in pairs_table(SHARES, most=8)
    assert all(figure in drawn for figure in ("+3.00", "−2.00", "+1.81", "+2.81"))
    assert drawn.count("against") == 2  # a bar, and the colour's own name
