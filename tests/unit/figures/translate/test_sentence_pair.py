"""The sentence pair, held to the matrix it is drawn from; and the translations that a search has found."""

import re

import numpy as np
import pytest

from attnviz.analysis.head_metrics import Link
from attnviz.analysis.translate.alignment import strongest_links
from attnviz.analysis.view import head_matrix
from attnviz.core.trace import Token
from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.translate.beam_tree import candidates
from attnviz.figures.translate.sentence_pair import LEAST_WEIGHT, ROW_PIXELS, Columns, sentence_pair
from tests.factories import given_map, make_map, numbered, special, typed

HOSTILE = '<img src=x onerror="alert(1)">'
PATH = re.compile(
    r'<path class="(.*?)" data-row="(\d+)" data-column="(\d+)" data-weight="(.*?)" d="M0 (.*?)C45 .*? 100 (.*?)" '
    r'stroke-width="(.*?)" stroke-opacity="(.*?)">'
)


def drawn(html: str) -> dict[tuple[int, int], tuple[str, float, float, float]]:
    """(row, column) -> class, weight, width, opacity"""
    return {
        (int(row), int(column)): (kind, float(weight), float(width), float(opacity))
        for kind, row, column, weight, _, _, width, opacity in PATH.findall(html)
    }


MATRIX = head_matrix(make_map((*numbered(5), special("</s>")), numbered(7)), layer=1, head=2)


def test_every_link_worth_seeing_is_drawn_with_its_weight():
    paths = drawn(sentence_pair(MATRIX))
    wanted = {(int(row), int(column)) for row, column in np.argwhere(MATRIX.weights >= LEAST_WEIGHT)}
    assert set(paths) == wanted
    for cell, (_, weight, _, _) in paths.items():
        assert weight == pytest.approx(float(MATRIX.weights[cell]), abs=5e-5)


def test_a_heavier_link_is_wider_and_denser():
    by_weight = sorted(drawn(sentence_pair(MATRIX)).values(), key=lambda path: path[1])
    widths, opacities = [path[2] for path in by_weight], [path[3] for path in by_weight]
    assert widths == sorted(widths)
    assert opacities == sorted(opacities)
    assert widths[-1] > 2 * widths[0]


def test_a_curve_runs_from_the_middle_of_its_source_word_to_that_of_its_target_word():
    height = ROW_PIXELS * 7
    for _, row, column, _, left, right, _, _ in PATH.findall(sentence_pair(MATRIX)):
        assert float(left) == pytest.approx((int(column) + 0.5) * height / 7, abs=0.06)
        assert float(right) == pytest.approx((int(row) + 0.5) * height / 6, abs=0.06)


def test_hard_links_stand_out_and_the_others_fade():
    links = (Link(0, 6, 0.0), *strongest_links(MATRIX))
    paths = drawn(sentence_pair(MATRIX, Columns(hard=links)))
    hard = {cell for cell, (kind, *_) in paths.items() if "hard" in kind}
    assert hard == {(link.query, link.key) for link in links}
    assert all("faded" in kind for cell, (kind, *_) in paths.items() if cell not in hard)


def test_the_selected_row_and_its_strongest_source_are_marked():
    html = sentence_pair(MATRIX, Columns(DARK, selected=3))
    best = int(MATRIX.weights[3].argmax())
    assert f'<span class="word chosen" data-column="{best}"' in html
    assert '<button class="word chosen" data-row="3" data-pick="3"' in html
    assert html.count("chosen") == 2
    assert {cell[0] for cell, (kind, *_) in drawn(html).items() if "selected" in kind} == {3}
    assert DARK.accent in html
    assert LIGHT.accent not in html


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
