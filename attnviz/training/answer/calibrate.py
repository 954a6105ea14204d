"""How sure a trained answerer is, made true: by questions held out of training, of several sources.

Its logits are divided by one temperature (Guo et al. 2017, arXiv:1706.04599, section 4.2), so that of the answers it gives with
p = 0.8 about 80 in 100 are right. Below one margin over no answer it declines: the one at which the source that loses most,
whether of its own passages answered or of strange ones declined, loses least.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from torch import nn

from attnviz.text.spans import pair_logits
from attnviz.training.answer.questions import QuestionExample, collate
from attnviz.training.answer.task import LIMIT, span_logits

TEMPERATURES = tuple(np.geomspace(0.5, 5, 93).tolist())


@dataclass(frozen=True)
class Calibration:
    """What divides the logits, and the margin over no answer, of undivided logits, below which the model declines."""

    temperature: float = 1.0
    threshold: float = 0.0


@dataclass(frozen=True, eq=False)
class _Asked:
    """The logits of all spans of a passage, flat, and whether the best of them is the answer."""

    pairs: Float[np.ndarray, " span"]
    right: bool

    @property
    def margin(self) -> float:
        return float(self.pairs.max())


def calibrate(model: nn.Module, held_out: Mapping[str, Sequence[QuestionExample]], length_penalty: float = 0.0) -> Calibration:
    """Find the temperature and the threshold by questions held out of training, by source."""
    asked = {source: [_ask(model, row, length_penalty) for row in rows] for source, rows in held_out.items() if rows}
    if not asked:
        return Calibration()
    strange = {source: [_ask(model, row, length_penalty) for row in mismatched(rows)] for source, rows in held_out.items()}
    every = [one for several in asked.values() for one in several]
    temperature = min(TEMPERATURES, key=lambda temperature: _surprise(every, temperature))
    own, others = ([[one.margin for one in several] for several in each.values() if several] for each in (asked, strange))
    return Calibration(temperature, _threshold(own, others))


def mismatched(rows: Sequence[QuestionExample]) -> list[QuestionExample]:
    """Pair each question with a passage half the list away."""
    n = len(rows)
    return [replace(row, context=rows[(at + n // 2) % n].context, start=-1, end=-1) for at, row in enumerate(rows) if n > 1]


def _threshold(own: Sequence[Sequence[float]], strange: Sequence[Sequence[float]]) -> float:
    """Choose among the margins themselves: the least share, over sources, of own pairs above it and strange ones below."""
    candidates = sorted({margin for margins in own for margin in margins})

    def least(threshold: float) -> float:
        answered = min(float(np.mean(np.array(margins) >= threshold)) for margins in own)
        return min([answered, *(float(np.mean(np.array(margins) < threshold)) for margins in strange)])

    return max(candidates, key=least)


def _ask(model: nn.Module, row: QuestionExample, length_penalty: float) -> _Asked:
    start, end = (logits[0].float().cpu().numpy() for logits in span_logits(model, collate([row])))
    pairs = pair_logits(start, end, limit=LIMIT, length_penalty=length_penalty)
    first, following = divmod(int(pairs.argmax()), pairs.shape[1])
    return _Asked(pairs[np.isfinite(pairs)], (first, first + following) == (row.start, row.end))


def _surprise(asked: Iterable[_Asked], temperature: float) -> float:
    """Average the negative log-likelihood, in nats, of whether the best spans are right."""
    sure = np.array([_sureness(one.pairs, temperature) for one in asked])
    right = np.array([one.right for one in asked])
    return -float(np.mean(np.log(np.where(right, sure, 1 - sure).clip(1e-9))))


def _sureness(pairs: Float[np.ndarray, " span"], temperature: float) -> float:
    """Compute p(best span) among all spans and no answer, whose logit is 0."""
    scaled = pairs / temperature
    top = max(float(scaled.max()), 0.0)
    return float(np.exp(scaled.max() - top) / (np.exp(scaled - top).sum() + np.exp(-top)))


def calibration_error(sure: Sequence[float], right: Sequence[float], n_bins: int = 10) -> float:
    """Expected calibration error, 0 to 1: |p - share that is right|, averaged over bins of p (Naeini et al. 2015).

    >>> round(calibration_error([0.9, 0.9, 0.3, 0.3], [1.0, 1.0, 1.0, 0.0]), 2)
    0.15
    """
    p, hit = np.asarray(sure, dtype=float), np.asarray(right, dtype=float)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = [abs(p[bins == each].sum() - hit[bins == each].sum()) for each in range(n_bins)]
    return float(sum(gaps) / max(len(p), 1))
