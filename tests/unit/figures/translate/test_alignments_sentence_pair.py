"""The sentence pair, held to the matrix it is drawn from; and the translations that a search has found."""

import re

import numpy as np
import pytest

from attnviz.analysis.head_view import head_matrix
from attnviz.core.trace import Token
from attnviz.figures.translate.alignments import LEAST_WEIGHT, ROW_PIXELS, candidates, sentence_pair
from tests.factories import given_map, make_map, numbered, special, typed

HOSTILE = '<img src=x onerror="alert(1)">'
PATH = re.compile(
    r'<path data-row="(\d+)" data-column="(\d+)" data-weight="(.*?)" d="M0 (.*?)C45 .*? 100 (.*?)" '
    r'stroke-width="(.*?)" stroke-opacity="(.*?)">'
)


def drawn(html: str) -> dict[tuple[int, int], tuple[float, float, float]]:
    """(row, column) -> weight, width, opacity"""
    return {
        (int(row), int(column)): (float(weight), float(width), float(opacity))
        for row, column, weight, _, _, width, opacity in PATH.findall(html)
    }


MATRIX = head_matrix(make_map((*numbered(5), special("</s>")), numbered(7)), layer=1, head=2)


def test_every_link_worth_seeing_is_drawn_with_its_weight():
    paths = drawn(sentence_pair(MATRIX))
    wanted = {(int(row), int(column)) for row, column in np.argwhere(MATRIX.weights >= LEAST_WEIGHT)}
    assert set(paths) == wanted
    for cell, (weight, _, _) in paths.items():
        assert weight == pytest.approx(float(MATRIX.weights[cell]), abs=5e-5)


def test_a_heavier_link_is_wider_and_denser():
    by_weight = sorted(drawn(sentence_pair(MATRIX)).values(), key=lambda path: path[0])
    widths, opacities = [path[1] for path in by_weight], [path[2] for path in by_weight]
    assert widths == sorted(widths)
    assert opacities == sorted(opacities)
    assert widths[-1] > 2 * widths[0]


def test_a_curve_runs_from_the_middle_of_its_source_word_to_that_of_its_target_word():
    height = ROW_PIXELS * 7
    for row, column, _, left, right, _, _ in PATH.findall(sentence_pair(MATRIX)):
        assert float(left) == pytest.approx((int(column) + 0.5) * height / 7, abs=0.06)
        assert float(right) == pytest.approx((int(row) + 0.5) * height / 6, abs=0.06)


def test_words_show_as_typed_and_keep_their_direction():
    target, source = (Token(HOSTILE, 0, len(HOSTILE)), Token("مرحبا", 31, 36)), typed("<b> & ")
    html = sentence_pair(head_matrix(given_map([[0.5, 0.5], [1, 0]], target, source), layer=0, head=0))
    assert "<img" not in html
    assert "<b>" not in html
    assert "<bdi>&lt;img src=x onerror=" in html
    assert "<bdi>مرحبا</bdi>" in html
    assert 'title="&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"' in html


def test_candidates_are_numbered_and_the_chosen_one_is_marked():
    html = candidates([("Le chat.", -1.5), ("<b>", -2.25)], chosen=1)
    assert re.findall(r'class="candidate( chosen)?" data-pick="(\d)"', html) == [("", "0"), (" chosen", "1")]
    assert "−1.50" in html
    assert "<bdi>&lt;b&gt;</bdi>" in html
