"""How sure an answerer is: a temperature that is known is found again, and the threshold leaves room over what is asked."""

import numpy as np
import pytest

from attnviz.models.answer.base import SpanDecoding
from attnviz.training.answer.calibrate import (
    ScoredSpans,
    SourceMargins,
    best_line,
    best_temperature,
    best_threshold,
    calibration_error,
)


def scored(temperature: float, n: int, seed: int) -> list[ScoredSpans]:
    """Spans that are right exactly as often as a temperature says: their logits are those, times it."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        logits = draw.normal(size=7) * 3
        best = np.exp(logits.max()) / (np.exp(logits).sum() + 1)
        made.append(ScoredSpans(logits * temperature, bool(draw.random() < best)))
    return made


@pytest.mark.parametrize("temperature", [0.7, 2.3])
def test_a_temperature_that_is_known_is_found(temperature):
    assert best_temperature({"x": scored(temperature, 3000, 5)}) == pytest.approx(temperature, rel=0.12)


def test_a_line_that_is_known_is_found():
    """Spans of which 1 in 2 is right where p is 0.2, and 3 in 4 where it is 0.6: the line goes through both."""
    made = [
        ScoredSpans(np.array([np.log(p / (1 - p))]), right)
        for p, rights in ((0.2, (True, False)), (0.6, (True, True, True, False)))
        for right in rights
        for _ in range(25)
    ]
    slope, intercept = best_line({"x": made}, 1.0)
    line = SpanDecoding(slope=slope, intercept=intercept)
    assert line.calibrated
    assert [line.confidence(0.2), line.confidence(0.6)] == pytest.approx([0.5, 0.75], abs=1e-3)
    assert SpanDecoding().confidence(0.37) == pytest.approx(0.37)
    assert not SpanDecoding().calibrated


def test_sources_count_alike_whatever_their_size():
    few, many = scored(1.0, 500, 5), scored(3.0, 5000, 6)
    own, together = best_temperature({"many": many}), best_temperature({"few": few, "many": many})
    assert together < best_temperature({"all": [*few, *many]}) < own


def test_the_threshold_leaves_room_where_there_is_least():
    """Between 3 and 4 all pairs of the first are right; the second loses one of four own there, and one of two above 2.5."""
    first = SourceMargins(np.array([5.0, 6, 4, 7]), np.array([1.0, 3]), np.array([3.5]))
    second = SourceMargins(np.array([4.5, 9, 2, 8]), np.array([-1.0, 2.5]), np.array([4.2, 1]))
    assert best_threshold([first]) == 4.0
    assert best_threshold([first, second]) == 4.0
    assert second.room(4.0) == pytest.approx(0.75 - 0.95)
    assert first.room(5.0) == pytest.approx(0.75 - 0.95)
    assert first.room(4.0) == pytest.approx(0.05)
    # What is left without the answering sentence is asked for less often.
    assert SourceMargins(np.array([9.0]), np.array([0.0]), np.array([1.0, 1, 10, 10])).room(9.0) == pytest.approx(0.5 - 0.6)


def test_the_error_by_hand():
    """Two bins: 0.6 of 3 that are right once, 0.95 of 2 that are right twice."""
    assert calibration_error([0.6, 0.6, 0.6, 0.95, 0.95], [1.0, 0.0, 0.0, 1.0, 1.0]) == pytest.approx((0.8 + 0.1) / 5)
    assert calibration_error([], []) == 0
