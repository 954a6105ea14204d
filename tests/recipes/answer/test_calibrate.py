"""How sure an answerer is: a temperature that is known is found again, and the threshold leaves room over what is asked."""

import numpy as np
import pytest

from attnviz.models.span_decoding import SpanDecoding
from recipes.answer.calibrate import (
    ScoredSpans,
    SourceDeclining,
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
    """Of two spans 1 in 2 is right, or 3 in 4, by how likely it is among both and how likely no answer is beside them."""
    made = [
        ScoredSpans(np.log(np.array([share, 1 - share]) * (1 - nothing) / nothing), right)
        for share, nothing, rights in (
            (0.6, 0.1, (True, True, True, False)),
            (0.6, 0.7, (True, False)),
            (0.9, 0.7, (True, True, True, False)),
        )
        for right in rights
        for _ in range(25)
    ]
    slope, slope_nothing, intercept = best_line({"x": made}, 1.0)
    line = SpanDecoding(slope=slope, slope_nothing=slope_nothing, intercept=intercept)
    assert line.calibrated
    # p of the span among all spans and no answer: its share of what no answer leaves.
    confidences = [line.confidence(share * (1 - nothing), nothing) for share, nothing in ((0.6, 0.1), (0.6, 0.7), (0.9, 0.7))]
    assert confidences == pytest.approx([0.75, 0.5, 0.75], abs=1e-3)
    assert SpanDecoding().confidence(0.3, 0.25) == pytest.approx(0.4)
    assert not SpanDecoding().calibrated
    # One span and nothing else, and none at all: sure, and no number that is none.
    assert 0.99 < SpanDecoding().confidence(1.0, 0.0) < 1
    assert 0 < line.confidence(0.0, 1.0) < 1


def test_the_line_is_that_of_divided_logits_and_of_sources_that_count_alike():
    few, many = scored(1.0, 60, 5), scored(3.0, 600, 6)
    line = best_line({"few": few, "many": many}, 2.0)
    few_divided, many_divided = ([ScoredSpans(one.pairs / 2, one.right) for one in each] for each in (few, many))
    assert best_line({"few": few_divided, "many": many_divided}, 1.0) == pytest.approx(line, abs=1e-3)
    assert best_line({"few": few * 5, "many": many}, 2.0) == pytest.approx(line, abs=1e-3)
    assert best_line({"all": [*few, *many]}, 2.0) != pytest.approx(line, abs=0.02)


def test_sources_count_alike_whatever_their_size():
    few, many = scored(1.0, 500, 5), scored(3.0, 5000, 6)
    own, together = best_temperature({"many": many}), best_temperature({"few": few, "many": many})
    assert together < best_temperature({"all": [*few, *many]}) < own


def test_the_threshold_leaves_room_where_there_is_least():
    """From .3 to .5 all pairs of the first are right; the second loses one of four own there, from .6 half of the strange."""
    first = SourceDeclining(np.array([0.3, 0.3, 0.1, 0.0]), np.array([0.9, 0.6]), np.array([0.5]))
    second = SourceDeclining(np.array([0.24, 0.1, 0.7, 0.0]), np.array([0.99, 0.6]), np.array([0.25, 0.9]))
    assert best_threshold([first]) == 0.3
    assert best_threshold([first, second]) == 0.3
    assert second.room(0.3) == pytest.approx(0.75 - 0.95)
    assert second.room(0.7) == pytest.approx(0.5 - 0.95)
    assert first.room(0.24) == pytest.approx(0.5 - 0.95)
    assert first.room(0.3) == pytest.approx(0.05)
    # What is left without the answering sentence is asked for less often.
    third = SourceDeclining(np.array([0.1]), np.array([0.9]), np.array([0.8, 0.8, 0.0, 0.1]))
    assert third.room(0.1) == pytest.approx(0.5 - 0.6)


def test_no_answer_is_as_likely_as_its_share_of_the_softmax():
    """Two spans of logits ln 2 and 0 beside no answer's 0: a quarter; at half the temperature 1 of 4 + 1 + 1."""
    spans = ScoredSpans(np.array([np.log(2.0), 0.0]), True)
    assert spans.nothing(1.0) == pytest.approx(1 / 4)
    assert spans.nothing(0.5) == pytest.approx(1 / 6)


def test_the_error_by_hand():
    """Two bins: 0.6 of 3 that are right once, 0.95 of 2 that are right twice."""
    assert calibration_error([0.6, 0.6, 0.6, 0.95, 0.95], [1.0, 0.0, 0.0, 1.0, 1.0]) == pytest.approx((0.8 + 0.1) / 5)
    assert calibration_error([], []) == 0


def test_of_thresholds_that_leave_as_much_room_the_one_that_declines_least_is_chosen():
    assert best_threshold([SourceDeclining(np.array([0.2, 0.3]), np.array([0.1]), np.array([0.9]))]) == 0.3
