"""What an answerer is worth, by source: how often its span is right, how often it declines, and whether it is as sure as right.

Of each source three kinds of pairs are asked: questions of their own passages; of a passage of another article or post
("mismatched"); and of their own without the sentences that hold an accepted answer ("removed"), which is much harder.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from attnviz.core.trace import Prompt
from attnviz.models.answer.own import AnswerModel
from attnviz.text.sentences import Sentences
from attnviz.training.answer.calibrate import calibration_error
from attnviz.training.answer.questions import Question, plain_question, read_questions

# One question in so many is also asked of passages that do not answer it.
EVERY = 4
# Sources as a card calls them, and the file and the name in it; QED's are those held out of training.
SOURCES = {
    "SQuAD half": ("qa.dev", ""),
    "new Wikipedia": ("qa-shifts.dev", "squadshifts-new-wiki"),
    "Reddit": ("qa-shifts.dev", "squadshifts-reddit"),
    "Amazon": ("qa-shifts.dev", "squadshifts-amazon"),
    "QED": ("qa.train", "qed-nq"),
}
MEASURES = ("questions", "EM", "F1", "declined", "declined of mismatched", "declined of removed", "calibration error")


@dataclass(frozen=True, eq=False)
class _Asked:
    """What a model says of some pairs: its best spans, their margins over no answer and their probabilities."""

    texts: Sequence[str]
    margins: Float[np.ndarray, " question"]
    sure: Float[np.ndarray, " question"]


def normalized(text: str) -> str:
    """Text as SQuAD's own script compares it: lower case, no punctuation, no articles, single spaces (Rajpurkar et al. 2016).

    >>> normalized("The  Denver Broncos!")
    'denver broncos'
    """
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def exact(text: str, answers: Sequence[str]) -> float:
    """1 where a text is an accepted answer, else 0.

    >>> exact("the Broncos", ["Denver Broncos", "Broncos"])
    1.0
    """
    return float(any(normalized(text) == normalized(answer) for answer in answers))


def overlap(text: str, answers: Sequence[str]) -> float:
    """F1 of the words that a text shares with the accepted answer it shares most with, 0 to 1.

    >>> round(overlap("Denver Broncos won", ["the Denver Broncos", "Broncos"]), 2)
    0.8
    """
    return max(_overlap(normalized(text).split(), normalized(answer).split()) for answer in answers)


def _overlap(words: Sequence[str], wanted: Sequence[str]) -> float:
    shared = (Counter(words) & Counter(wanted)).total()
    return 2 * shared / (len(words) + len(wanted)) if shared else 0.0


def mismatched(questions: Sequence[Question]) -> list[Question]:
    """Pair some of the questions with a passage half the list away: the list goes article by article."""
    n = len(questions)
    return [
        Question(one.text, questions[(place + n // 2) % n].context, 0, one.answers)
        for place, one in enumerate(questions)
        if place % EVERY == 0
    ]


def removed(questions: Sequence[Question]) -> list[Question]:
    """Take the sentences with an accepted answer out of some of the passages; where nothing is left, the question goes too.

    >>> removed([Question("Who?", "It rained. It was Ann. She left.", 18, ("Ann",))])[0].context
    'It rained. She left.'
    """
    pairs = []
    for one in questions[::EVERY]:
        sentences = [one.context[start:end] for start, end in Sentences.of(one.context).spans]
        left = [each for each in sentences if not any(answer.lower() in each.lower() for answer in one.answers)]
        if left and len(left) < len(sentences):
            pairs.append(Question(one.text, " ".join(left), 0, one.answers))
    return pairs


def evaluate_answerer(
    model: AnswerModel, data: Path, report: Callable[[str], None], held_out: Mapping[str, int]
) -> dict[str, Any]:
    """Measure a model on every source: a row of `MEASURES` each, in percent, under "by source"; EM and F1 of the first alone.

    `held_out`: how many questions of a source its recipe did not learn from. A source of the training file has a row only then.

    Raises:
        DataError: the folder lacks a file.
    """
    rows = {}
    for name in SOURCES:
        rows[name] = _measured(model, _questions(data, name, held_out))
        if not rows[name]:
            continue
        report(f"{name}: " + ", ".join(f"{measure} {value:.4g}" for measure, value in rows[name].items()))
    whole = rows["SQuAD half"]
    return {
        "questions": whole["questions"], "EM": whole["EM"], "F1": whole["F1"],
        "threshold": model.decoding.threshold, "by source": rows,
    }  # fmt: skip


def _questions(data: Path, name: str, held_out: Mapping[str, int]) -> list[Question]:
    file, source = SOURCES[name]
    if file == "qa.train" and not held_out.get(source):
        return []
    questions = [one for one in read_questions(data, file) if not source or one.source == source]
    return [plain_question(one) for one in questions[-held_out[source] :]] if file == "qa.train" else questions


def _measured(model: AnswerModel, questions: Sequence[Question]) -> dict[str, float | int]:
    if not questions:
        return {}
    own = _ask(model, questions)
    right = [exact(text, one.answers) for text, one in zip(own.texts, questions, strict=True)]
    shared = [overlap(text, one.answers) for text, one in zip(own.texts, questions, strict=True)]
    threshold = model.decoding.threshold
    declined = [_ask(model, pairs).margins < threshold for pairs in (mismatched(questions), removed(questions))]
    return {
        "questions": len(questions),
        "EM": 100 * float(np.mean(right)),
        "F1": 100 * float(np.mean(shared)),
        "declined": 100 * float(np.mean(own.margins < threshold)),
        "declined of mismatched": 100 * float(np.mean(declined[0])),
        "declined of removed": 100 * float(np.mean(declined[1])) if len(declined[1]) else 0.0,
        "calibration error": calibration_error(own.sure.tolist(), right),
    }


def _ask(model: AnswerModel, questions: Sequence[Question]) -> _Asked:
    best = [model.best(Prompt(one.context, question=one.text)) for one in questions]
    return _Asked(
        [each.text for each in best], np.array([each.margin for each in best]), np.array([each.probability for each in best])
    )
