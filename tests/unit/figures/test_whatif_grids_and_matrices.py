"""The pictures of two traces compared, on the page and on paper."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from attnviz.analysis.whatif_comparison import Change, compare
from attnviz.analysis.wording import percent, points
from attnviz.core.trace import AttentionMap, AttentionTrace, DenseWeights, Prompt
from attnviz.export import svg_png_pdf, whatif_report
from attnviz.figures.theme import DARK, LIGHT
from attnviz.figures.whatif_grids_and_matrices import aligned_labels, changes_table, divergence_grid, three_matrices
from tests.factories import sentence, typed

BEFORE, AFTER = sentence("it <was> tired now"), sentence("it <was> wide now")


def traced(*weights: np.ndarray, tokens=BEFORE) -> AttentionTrace:
    return AttentionTrace("mine", Prompt("text"), (AttentionMap("encoder", tokens, tokens, DenseWeights(weights)),))


@pytest.fixture(scope="module")
def traces() -> tuple[AttentionTrace, AttentionTrace]:
    both = []
    for seed, tokens in ((3, BEFORE), (5, AFTER)):
        weights = np.random.default_rng(seed).random((2, 3, 6, 6)) ** 3
        both.append(traced(*(weights / weights.sum(axis=-1, keepdims=True)), tokens=tokens))
    return both[0], both[1]


def test_the_head_that_moved_most_is_the_darkest(traces):
    actual = compare(*traces)
    drawn = divergence_grid(actual, chosen=(1, 2), theme=DARK)
    colours = dict(re.findall(r'data-pick="([^"]*)".*?background:(#\w+)', drawn))
    assert list(colours) == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert colours["{}.{}".format(*actual.most)] == DARK.colour(1.0)
    assert re.findall(r'data-pick="([^"]*)" aria-pressed="true"', drawn) == ["1.2"]
    assert re.findall(r" title=\"[^\"]*: average change (\d+)\xa0%", drawn) == [
        f"{100 * bits:.0f}" for bits in actual.divergence.ravel()
    ]


def test_a_head_that_is_off_hides_no_other():
    tokens = typed("a b c")
    on = np.array([np.eye(3), [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]]])
    off = np.array([np.zeros((3, 3)), np.eye(3)])
    actual = compare(*(traced(weights, tokens=tokens) for weights in (on, off)))
    assert actual.most == (0, 1)
    assert LIGHT.colour(1.0) in divergence_grid(actual, chosen=(0, 1)).split('data-pick="0.1"')[1]


def test_both_sides_have_their_own_tokens_and_the_difference_those_of_both(traces):
    actual = compare(*traces)
    sides = three_matrices(actual, 0, 1, ("First", "Second"))
    before, after, moved = (each.record(LIGHT) for each in sides)
    assert ("tired" in before["rows"], "wide" in before["rows"], "wide" in after["rows"]) == (True, False, True)
    assert {"tired→wide", "<was>"} <= set(moved["rows"])
    np.testing.assert_allclose(moved["weights"], actual.difference(0, 1).ravel(), atol=1e-7)
    assert (moved["isSigned"], moved["highest"]) == (True, pytest.approx(np.abs(actual.difference(0, 1)).max()))
    # A row or a column of two aligned tokens has one number in all three; the first three keys are the same on both sides here.
    for places in zip(*(each["shared"] for each in (before, after, moved)), strict=True):
        assert len({frozenset(place for place in side if place is not None) for side in places}) == 1
    # All leave the same room for their names.
    assert len({each.longest for each in sides}) == 1
    assert sides[0].longest == (max(map(len, moved["rows"])), max(map(len, moved["columns"])))


def test_the_changes_are_the_largest_of_the_difference(traces):
    actual = compare(*traces)
    changes = actual.changes(0, 1)
    moved = np.sort(np.abs(actual.difference(0, 1)), axis=None)[::-1]
    assert [abs(each.now - each.was) for each in changes] == pytest.approx(moved[:6], abs=1e-6)
    table = changes_table(changes, ("A", "<b>"))
    assert table.count("<tr>") == 7
    figures = re.findall(r'<td class="figure">([^<]*)', table)
    assert figures == [
        each for change in changes for each in (percent(change.was), percent(change.now), points(change.now - change.was))
    ]
    assert compare(traces[0], traces[0]).changes(0, 1) == ()


def test_a_link_between_line_ends_or_very_long_tokens_is_named_in_a_few_letters():
    line, word = (replace(BEFORE[0], text=text) for text in ("\n", "w" * 300))
    assert "<bdi>↵</bdi> → <bdi>wwww" in changes_table([Change(line, word, 0.2, 0.9)], ("A", "B"))
    assert "w" * 60 not in changes_table([Change(line, word, 0.2, 0.9)], ("A", "B"))
    one, other = (traced(*np.full((1, 1, 2, 2), 0.5), tokens=(line, each)) for each in (word, BEFORE[1]))
    rows, _ = aligned_labels(compare(one, other))
    assert not any("\n" in name for name in rows)
    assert "↵" in rows[0]


def test_on_paper_both_sides_and_the_difference_stand_with_their_names(traces):
    actual = compare(*traces)
    sheet = whatif_report.draw_comparison(actual, traces, 1, 2)
    root = ElementTree.fromstring(svg_png_pdf.sheet_svg(sheet))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    # In the unit of the page, where the grid names the same head.
    named = re.findall(r'title="(L1·H2: [^"]*)"', divergence_grid(actual, chosen=(1, 2)))
    assert [f"L1·H2: average change {percent(actual.divergence[1, 2])}"] == named
    assert named[0] in texts
    assert "Difference" in texts
    assert any(re.fullmatch(r"blue −\S+\spoints? to orange \+\S+\spoints?", each or "") for each in texts)
    assert "tired→wide" in texts
    changes = [each.get("data-change") for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("data-change")]
    assert np.array(changes, dtype=float) == pytest.approx(actual.difference(1, 2).ravel(), abs=1e-5)
    assert svg_png_pdf.sheet_png(sheet)[:4] == b"\x89PNG"
    rows = whatif_report.comparison_csv(actual).decode("utf-8-sig").splitlines()
    assert rows[1].startswith("{},{},".format(*actual.most))
    assert len(rows) == 7
