"""Heads found by a drawing: the likeness is the plain correlation, and planted patterns are found."""

import numpy as np
import pytest

from attnviz.analysis.heads.atlas import PATTERNS, WORDS, likeness, pattern_text, read_pattern
from attnviz.figures.head_claims import likeness_grid


def test_the_likeness_is_the_correlation_of_all_cells():
    means = np.random.default_rng(5).random((2, 3, WORDS, WORDS))
    pattern = PATTERNS["Neighbours"]
    alike = likeness(means, pattern)
    np.testing.assert_allclose(likeness(means / 1e5, pattern), alike)
    for layer, head in np.ndindex(2, 3):
        want = np.corrcoef(means[layer, head].ravel(), pattern.ravel())[0, 1]
        assert alike[layer, head] == pytest.approx(want, abs=1e-12)


def test_the_patterns_are_the_diagonals_that_they_are_named_after():
    before, after = np.eye(WORDS, k=-1), np.eye(WORDS, k=1)
    want = {"Previous word": before, "Next word": after, "Itself": np.eye(WORDS), "Neighbours": before + after}
    want |= {"First word": np.arange(WORDS) == np.zeros((WORDS, 1)), "All before": np.tri(WORDS, k=-1)}
    assert PATTERNS.keys() == want.keys()
    assert all((PATTERNS[name] == each).all() for name, each in want.items())


@pytest.mark.parametrize("planted", PATTERNS)
def test_a_planted_pattern_is_found_and_its_link_reads_as_it_was_written(planted):
    noise = np.random.default_rng(7).random((2, 2, WORDS, WORDS)) * 0.1
    noise[1, 0] += PATTERNS[planted]
    alike = likeness(noise, PATTERNS[planted])
    assert np.unravel_index(alike.argmax(), alike.shape) == (1, 0)
    again = read_pattern(pattern_text(PATTERNS[planted]))
    assert again is not None
    assert (again == PATTERNS[planted]).all()
    assert 'data-pick="1.0"' in likeness_grid(alike, chosen=(1, 0))


@pytest.mark.parametrize("written", ["", "80", "g" * 16, "8" * 17, "<script>"])
def test_what_is_no_drawing_is_none(written):
    assert read_pattern(written) is None


def test_a_drawing_of_nothing_or_of_everything_is_like_no_head():
    means = np.random.default_rng(5).random((1, 2, WORDS, WORDS))
    for pattern in (np.zeros((WORDS, WORDS), bool), np.ones((WORDS, WORDS), bool)):
        assert not likeness(means, pattern).any()
