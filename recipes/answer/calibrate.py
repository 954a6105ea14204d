"""How sure a trained answerer is, made true: by a part of the development questions, of several sources, that no figure counts.

Its logits are divided by one temperature (Guo et al. 2017, arXiv:1706.04599, section 4.2). A line over the log odds of the
best span among all spans, and over those of no answer, says how often such a span is right (Platt 1999). Above one p(no
answer) it declines: the one that leaves most room over what is asked of every source (`ASKED`), where it leaves least. All
spans count for an answer, not the best alone, as several may be right, and share what is likely.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit

from attnviz.core.trace import Prompt
from attnviz.models.shipped_answerer import AnswerModel
from attnviz.models.span_decoding import Logits, pair_logits, span_log_odds, text_of
from recipes.answer.development import calibrating, exact, mismatched, read_sources, removed
from recipes.answer.questions import Question

TEMPERATURES = tuple(np.geomspace(0.5, 5, 93).tolist())
# Shares that are asked: of answerable questions answered; of those with a strange passage, or without their sentence, declined.
ASKED = {"own": 0.95, "mismatched": 0.95, "removed": 0.60}


@dataclass(frozen=True)
class Calibration:
    """What makes a trained answerer's numbers true.

    temperature     divides the logits
    declines_above  p(no answer) above which the model declines, 0 to 1
    slope, slope_nothing, intercept  of `SpanDecoding.confidence`
    """

    temperature: float = 1.0
    declines_above: float | None = None
    slope: float = 1.0
    slope_nothing: float = 0.0
    intercept: float = 0.0


@dataclass(frozen=True, eq=False)
class ScoredSpans:
    """The logits of all spans of a passage over that of no answer, flat, and whether the best of them is an accepted answer."""

    pairs: Float[np.ndarray, " span"]
    right: bool

    def nothing(self, temperature: float) -> float:
        """Compute p(no answer), 0 to 1."""
        return float(expit(-np.logaddexp.reduce(self.pairs / temperature)))


@dataclass(frozen=True, eq=False)
class SourceDeclining:
    """p(no answer) of one source's questions: of own passages, mismatched ones, and without the answer."""

    own: Float[np.ndarray, " own"]
    mismatched: Float[np.ndarray, " mismatched"]
    removed: Float[np.ndarray, " removed"]

    def room(self, threshold: float) -> float:
        """Compute by how much the shares at a threshold exceed what is asked, where they do so least."""
        shares = {
            "own": self.own <= threshold,
            "mismatched": self.mismatched > threshold,
            "removed": self.removed > threshold,
        }
        return min(float(np.mean(share)) - ASKED[name] for name, share in shares.items() if len(share))


def calibrate(model: AnswerModel, data: Path, report: Callable[[str], None]) -> Calibration:
    """Find the temperature and the threshold by the development questions that are kept for it.

    Raises:
        DataError: the folder lacks a file.
    """
    scored: dict[str, list[ScoredSpans]] = {}
    strange: dict[str, list[list[ScoredSpans]]] = {}
    for source, questions in read_sources(data, {}).items():
        kept = calibrating(questions)
        scored[source] = [score_spans(model, one) for one in kept]
        strange[source] = [[score_spans(model, one) for one in pairs] for pairs in (mismatched(kept, 1), removed(kept, 1))]
        report(f"calibrating by {len(kept):,} questions of {source}")
    temperature = best_temperature(scored)
    declining = [
        SourceDeclining(*(np.array([one.nothing(temperature) for one in each]) for each in (scored[source], *strange[source])))
        for source in scored
    ]
    return Calibration(temperature, best_threshold(declining), *best_line(scored, temperature))


class BestSpan(NamedTuple):
    """The text of a passage's best span, its probability, that of no answer, and all logits."""

    text: str
    probability: float
    nothing: float
    logits: Logits


def best_span(model: AnswerModel, prompt: Prompt) -> BestSpan:
    """Find the best span, as `answers` does, without a trace."""
    pair, _, result = model.find(prompt, 1)
    best = result.spans[0]
    return BestSpan(text_of(best, prompt.text, pair.passage), best.probability, result.nothing, result.logits)


def score_spans(model: AnswerModel, question: Question) -> ScoredSpans:
    """Compute the logits of all spans, and whether the best is accepted."""
    best = best_span(model, Prompt(question.context, question=question.text))
    limit, penalty = model.decoding.limit, model.decoding.length_penalty
    pairs = pair_logits(best.logits.start, best.logits.end, limit=limit, length_penalty=penalty) - best.logits.nothing
    return ScoredSpans(pairs[np.isfinite(pairs)], bool(exact(best.text, question.answers)))


def best_temperature(scored: Mapping[str, Sequence[ScoredSpans]]) -> float:
    """Choose the temperature under which it surprises least that the best spans are right or wrong; sources count alike."""

    def surprise(temperature: float) -> float:
        return float(np.mean([_surprise(each, temperature) for each in scored.values()]))

    return min(TEMPERATURES, key=surprise)


def best_line(scored: Mapping[str, Sequence[ScoredSpans]], temperature: float) -> tuple[float, float, float]:
    """Fit slopes and intercept of `SpanDecoding.confidence` by maximum likelihood; sources count alike."""
    odds, signs, shares = [], [], []
    for each in scored.values():
        nothing = np.array([one.nothing(temperature) for one in each])
        odds.append(span_log_odds(probabilities([one.pairs for one in each], temperature), nothing))
        signs.append(np.where([one.right for one in each], 1.0, -1.0))
        shares.append(np.full(len(each), 1 / len(each)))
    x, sign, share = (np.concatenate(each, axis=-1) for each in (odds, signs, shares))

    def surprise(line: Float[np.ndarray, "3"]) -> float:
        return float(share @ np.logaddexp(0, -sign * (line[:2] @ x + line[2])))

    slope, slope_nothing, intercept = minimize(surprise, [1.0, 0.0, 0.0]).x
    return float(slope), float(slope_nothing), float(intercept)


def best_threshold(sources: Sequence[SourceDeclining]) -> float:
    """Choose among p(no answer) of the answerable questions the one that leaves most room where it leaves least.

    Of those that leave as much, it is the highest, which declines least.

    >>> best_threshold([SourceDeclining(np.array([0.1, 0.4]), np.array([0.6, 0.9]), np.array([0.3, 0.7]))])
    0.4
    """
    candidates = np.unique(np.concatenate([source.own for source in sources]))[::-1].tolist()
    return max(candidates, key=lambda threshold: min(source.room(threshold) for source in sources))


def _surprise(scored: Sequence[ScoredSpans], temperature: float) -> float:
    """Average the negative log-likelihood, in nats, of whether the best spans are right."""
    sure = probabilities([one.pairs for one in scored], temperature)
    right = np.array([one.right for one in scored])
    return -float(np.mean(np.log(np.where(right, sure, 1 - sure).clip(1e-9))))


def probabilities(pairs: Sequence[Float[np.ndarray, " _"]], temperature: float) -> Float[np.ndarray, " passage"]:
    """Compute p(best span) of each passage among all its spans and no answer, whose logit is 0.

    >>> probabilities([np.array([2.0, 0.0]), np.array([0.0])], 2.0).round(3).tolist()
    [0.576, 0.5]
    """
    sizes = [len(spans) for spans in pairs]
    starts = np.cumsum([0, *sizes[:-1]])
    logits = np.concatenate(pairs) / temperature
    best = np.maximum.reduceat(logits, starts)
    top = np.maximum(best, 0.0)
    rest = np.add.reduceat(np.exp(logits - np.repeat(top, sizes)), starts)
    return np.exp(best - top) / (rest + np.exp(-top))


def calibration_error(sure: ArrayLike, right: ArrayLike, n_bins: int = 10) -> float:
    """Expected calibration error, 0 to 1: |p - share that is right|, averaged over bins of p (Naeini et al. 2015).

    >>> round(calibration_error([0.9, 0.9, 0.3, 0.3], [1.0, 1.0, 1.0, 0.0]), 2)
    0.15
    """
    p, hit = np.asarray(sure, dtype=float), np.asarray(right, dtype=float)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = [abs(p[bins == each].sum() - hit[bins == each].sum()) for each in range(n_bins)]
    return float(sum(gaps) / max(len(p), 1))


def calibration_noise(sure: ArrayLike, n_draws: int = 200, seed: int = 2015) -> float:
    """Compute the mean `calibration_error` that a perfectly calibrated model shows, because its questions are few.

    >>> calibration_noise([0.5])
    0.5
    """
    p, generator = np.asarray(sure, dtype=float), np.random.default_rng(seed)
    return float(np.mean([calibration_error(p, generator.random(len(p)) < p) for _ in range(n_draws)]))
