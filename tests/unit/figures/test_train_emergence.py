"""Emergence drawn: cells are coloured by their weights, nothing that is typed becomes markup, curves stay in their frame."""

import re
from dataclasses import replace

import numpy as np
import pytest

from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.train import OUTLINE, Curve, HeldOutSequence, emergence
from tests.unit.figures.test_theme import contrast

HOSTILE = ("<script>", "</script>", "a&b", '"', "مرحبا", "😀", "中文")


def held(source, target, written):
    weights = np.random.default_rng(3).dirichlet(np.ones(len(source)), len(target)).astype(np.float32)
    sure = np.zeros(weights.shape, dtype=bool)
    sure[0, 1] = True
    possible = sure.copy()
    possible[1, [0, 2]] = True
    return HeldOutSequence(tuple(source), tuple(target), tuple(written), weights, sure, possible)


HELD = held("abcde", "xyz", "xyq")


def drawn(held=None, *curves, theme=LIGHT, steps=7, at=0):
    return emergence(held or HELD, curves, steps=steps, at=at, theme=theme)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_cells_are_the_weights_row_by_row_and_the_true_links_outlines_upon_them(theme):
    picture = drawn(theme=theme)
    assert picture.count("<svg") == 1
    cells = re.findall(r'<rect (x="\S+" y="\S+") [^>]*fill="(#\w+)"', picture)
    assert [fill for _, fill in cells] == [theme.colour(float(weight)) for weight in HELD.weights.flat]
    places = {place: divmod(index, 5) for index, (place, _) in enumerate(cells)}
    outlined = re.findall(r'<rect (x="\S+" y="\S+") [^>]*class="(should|may)"', picture)
    assert {(*places[place], kind) for place, kind in outlined} == {(0, 1, "should"), (1, 0, "may"), (1, 2, "may")}


def test_a_possible_link_is_named_only_where_there_is_one():
    assert "May look at" in drawn()
    assert "May look at" not in drawn(replace(HELD, possible=HELD.sure))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_an_outline_is_seen_on_every_weight(theme):
    """WCAG 2.2, 1.4.11: a mark and what is beside it differ in luminance by 3 : 1 or more, here on no weight and on all."""
    for weight in (0.0, 1.0):
        assert contrast(OUTLINE, theme.colour(weight)) >= 3


def test_a_wrong_token_is_marked_and_a_right_one_is_not():
    assert re.findall(r'class="(right|wrong)">(\w)', drawn()) == [("right", "x"), ("right", "y"), ("wrong", "q")]
    assert "Of “abcde” it writes 2 of 3 tokens right" in drawn()


def test_what_is_typed_is_escaped():
    picture = drawn(held(HOSTILE, HOSTILE[:3], HOSTILE[2:5]), Curve("<u>", "<u>", ((0, 1.0),)))
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture
    assert "a&amp;b" in picture
    assert "<u>" not in picture


def test_a_curve_runs_from_its_first_step_to_where_it_is_and_stays_in_its_frame():
    picture = drawn(None, Curve("loss", "2.00", ((0, 4.0), (5, 2.0), (10, 0.0)), top=4.0), steps=20, at=5)
    assert re.search(r'points="([^"]*)"', picture)[1] == "0.00,0.00 25.00,32.00 50.00,64.00"
    assert 'x1="25.00"' in picture
