"""How sure an answerer is: a temperature that is known is found again, and the threshold answers enough of every source."""

import numpy as np
import pytest
import torch

from attnviz.training.answer import calibrate as calibrating
from attnviz.training.answer.calibrate import Calibration, calibrate, calibration_error
from attnviz.training.answer.questions import QuestionExample


class Sampled(torch.nn.Module):
    """A model whose spans are right exactly as often as a temperature says: its logits are those, times it."""

    def __init__(self, temperature: float, n: int) -> None:
        super().__init__()
        draw = np.random.default_rng(5)
        self.rows, self.logits = [], []
        for number in range(n):
            start = draw.normal(size=7) * 3
            shares = np.exp(start) / (np.exp(start).sum() + 1)
            at = int(draw.choice(8, p=[*shares, 1 - shares.sum()]))
            self.rows.append(QuestionExample((number,), tuple(range(7)), *((at, at) if at < 7 else (-1, -1))))
            self.logits.append(start * temperature)

    def span_logits(self, _model: torch.nn.Module, batch) -> tuple[torch.Tensor, torch.Tensor]:
        start = torch.tensor(self.logits[int(batch.question[0, 0])])[None]
        # Only spans of one token: the end costs what another start would.
        end = torch.zeros_like(start)
        return start, end


def test_a_temperature_that_is_known_is_found(monkeypatch):
    monkeypatch.setattr(calibrating, "LIMIT", 0)
    for temperature in (0.7, 2.3):
        model = Sampled(temperature, 1500)
        monkeypatch.setattr(calibrating, "span_logits", model.span_logits)
        assert calibrate(model, {"x": model.rows}).temperature == pytest.approx(temperature, rel=0.12)


def test_the_source_that_loses_most_loses_least():
    """Own and strange margins of two sources: between 3 and 4 all of both are right, but one of the second's own."""
    own, strange = [[5.0, 6.0, 4.0, 7.0], [4.5, 9.0, 2.0, 8.0]], [[1.0, 3.0], [-1.0, 2.5]]
    assert calibrating._threshold(own, strange) == 4.0
    # Below 2 the strange ones of both sources are answered.
    assert calibrating._threshold([[2.0, 2.0]], [[1.0, 3.0, 3.0]]) == 2.0


def test_strange_passages_are_half_the_list_away():
    rows = [QuestionExample((number,), (number + 100,), 0, 0) for number in range(5)]
    assert [(row.question[0], row.context[0] - 100) for row in calibrating.mismatched(rows)] == [
        (0, 2), (1, 3), (2, 4), (3, 0), (4, 1),
    ]  # fmt: skip
    assert all(row.start == row.end == -1 for row in calibrating.mismatched(rows))
    assert calibrating.mismatched(rows[:1]) == []


def test_nothing_held_out_changes_nothing():
    assert calibrate(torch.nn.Identity(), {}) == Calibration(1.0, 0.0)


def test_the_error_by_hand():
    """Two bins: 0.6 of 3 that are right once, 0.95 of 2 that are right twice."""
    assert calibration_error([0.6, 0.6, 0.6, 0.95, 0.95], [1.0, 0.0, 0.0, 1.0, 1.0]) == pytest.approx((0.8 + 0.1) / 5)
    assert calibration_error([], []) == 0
