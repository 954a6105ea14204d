"""What an answerer is worth: how often its span is an accepted answer, and how often it declines where it should."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.core.trace import Prompt
from attnviz.models.answer.own import AnswerModel
from attnviz.training.answer.questions import Question, read_questions

# Of the answered pairs, how many percent are to be kept, for the curve of what is then declined.
KEPT = (99, 97, 95, 90, 80)
# One question in so many is also asked of a passage of another article.
EVERY = 4


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


def evaluate_answerer(model: AnswerModel, data: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """EM and F1 on all development questions, in percent, and the curve of declining.

    Raises:
        DataError: the folder lacks the development questions.
    """
    questions = read_questions(data, "qa.dev")
    true = _answered(model, questions, report)
    metrics: dict[str, Any] = {
        "questions": len(questions),
        "EM": 100 * float(np.mean([exact(text, one.answers) for (text, _), one in zip(true, questions, strict=True)])),
        "F1": 100 * float(np.mean([overlap(text, one.answers) for (text, _), one in zip(true, questions, strict=True)])),
    }
    report(f"EM {metrics['EM']:.2f}, F1 {metrics['F1']:.2f}")
    others = mismatched(questions)
    kept = np.array([margin for _, margin in true])
    declined = np.array([margin for _, margin in _answered(model, others, report)])
    metrics["mismatched questions"] = len(others)
    limits = [*((f"declined where {share}% stay", float(np.quantile(kept, 1 - share / 100))) for share in KEPT)]
    metrics |= {name: 100 * float(np.mean(declined < limit)) for name, limit in limits}
    threshold = model.decoding.threshold
    metrics |= {
        "threshold": threshold,
        "answered that stay": 100 * float(np.mean(kept >= threshold)),
        "mismatched that are declined": 100 * float(np.mean(declined < threshold)),
    }
    for name in metrics:
        report(f"{name}  {metrics[name]}")
    return metrics


def _answered(model: AnswerModel, questions: Sequence[Question], report: Callable[[str], None]) -> list[tuple[str, float]]:
    """Find the best span of each question's passage, and its margin over no answer."""
    answered = []
    for number, one in enumerate(questions, 1):
        answered.append(model.best(Prompt(one.context, question=one.text)))
        if number % 500 == 0:
            report(f"asked {number} of {len(questions)}")
    return answered
