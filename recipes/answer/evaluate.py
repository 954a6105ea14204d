"""What an answerer is worth, by source: how often its span is right, how often it declines, and whether it is as sure as right.

Of each source three kinds of pairs are asked: questions of their own passages; of a passage of another article or post
("mismatched"); and of their own without the sentences that hold an accepted answer ("removed"), which is much harder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.trace import Prompt
from attnviz.models.shipped_answerer import AnswerModel
from recipes.answer.calibrate import best_span, calibration_error, calibration_noise
from recipes.answer.development import exact, measured, mismatched, overlap, read_sources, removed
from recipes.answer.questions import Question

# One question in so many is also asked of passages that do not answer it.
EVERY = 4
_DECLINED = ("declined", "declined of mismatched", "declined of removed")
MEASURES = ("questions", "EM", "F1", *_DECLINED, "calibration error", "by chance")


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of some pairs: its best spans, whether it declines, and its confidence in them."""

    texts: Sequence[str]
    declined: Bool[np.ndarray, " question"]
    sure: Float[np.ndarray, " question"]


def evaluate_answerer(
    model: AnswerModel, data: Path, report: Callable[[str], None], held_out: Mapping[str, int]
) -> dict[str, Any]:
    """Measure a model on every source: a row of `MEASURES` each, in percent, under "by source"; EM and F1 of the first alone.

    `held_out`: how many questions of a source its recipe did not learn from. A source of the training file has a row only then.

    Raises:
        DataError: the folder lacks a file.
    """
    rows = {}
    for name, questions in read_sources(data, held_out).items():
        rows[name] = _measures(model, questions)
        report(f"{name}: " + ", ".join(f"{measure} {value:.4g}" for measure, value in rows[name].items()))
    whole = rows["SQuAD half"]
    return {"questions": whole["questions"], "EM": whole["EM"], "F1": whole["F1"], "by source": rows}


def _measures(model: AnswerModel, questions: Sequence[Question]) -> dict[str, float | int]:
    """EM and F1 of all; what hangs on threshold and temperature, of those that decided neither."""
    predictions = _predict(model, questions)
    right = np.array([exact(text, one.answers) for text, one in zip(predictions.texts, questions, strict=True)])
    shared = [overlap(text, one.answers) for text, one in zip(predictions.texts, questions, strict=True)]
    counted = measured(questions)
    rest = np.isin([one.context for one in questions], [one.context for one in counted])
    declined = [_predict(model, pairs(counted, EVERY)).declined for pairs in (mismatched, removed)]
    return {
        "questions": len(questions),
        "EM": 100 * float(np.mean(right)),
        "F1": 100 * float(np.mean(shared)),
        "declined": 100 * float(np.mean(predictions.declined[rest])),
        "declined of mismatched": 100 * float(np.mean(declined[0])),
        "declined of removed": 100 * float(np.mean(declined[1])) if len(declined[1]) else 0.0,
        "calibration error": calibration_error(predictions.sure[rest], right[rest]),
        "by chance": calibration_noise(predictions.sure[rest]),
    }


def _predict(model: AnswerModel, questions: Sequence[Question]) -> Predictions:
    best = [best_span(model, Prompt(one.context, question=one.text)) for one in questions]
    declined = [model.decoding.declines(each.nothing, each.probability) for each in best]
    sure = [model.decoding.confidence(each.probability, each.nothing) for each in best]
    return Predictions([each.text for each in best], np.array(declined), np.array(sure))
