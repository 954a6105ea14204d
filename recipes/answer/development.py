"""Questions to measure by: their sources, the part that calibrates, pairs that do not answer, and SQuAD's own measures."""

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from attnviz.text.sentences import Sentences
from recipes.answer.questions import Question, plain_question, read_questions

# Of so many passages in a row, one and its questions calibrate.
FOLDS = 5
# Sources as a card calls them, and the file and the name in it; QED's are those held out of training.
SOURCES = {
    "SQuAD half": ("qa.dev", ""),
    "new Wikipedia": ("qa-shifts.dev", "squadshifts-new-wiki"),
    "Reddit": ("qa-shifts.dev", "squadshifts-reddit"),
    "Amazon": ("qa-shifts.dev", "squadshifts-amazon"),
    "QED": ("qa.train", "qed-nq"),
}


def read_sources(data: Path, held_out: Mapping[str, int]) -> dict[str, list[Question]]:
    """Read the questions of every source, by its name in `SOURCES`.

    `held_out`: how many of a source's last questions its recipe did not learn from. Only these are read of the training file.

    Raises:
        DataError: the folder lacks a file.
    """
    sources = {}
    for name, (file, source) in SOURCES.items():
        number = held_out.get(source, 0)
        if file == "qa.train" and not number:
            continue
        questions = [one for one in read_questions(data, file) if not source or one.source == source]
        sources[name] = [plain_question(one) for one in questions[-number:]] if file == "qa.train" else questions
    return {name: questions for name, questions in sources.items() if questions}


def calibrating(questions: Sequence[Question]) -> list[Question]:
    """Keep the questions of every fifth passage: they decide temperature and threshold, and count in no figure of these."""
    places = _passages(questions)
    return [one for one in questions if places[one.context] % FOLDS == 0]


def measured(questions: Sequence[Question]) -> list[Question]:
    """Keep the questions of the other passages."""
    places = _passages(questions)
    return [one for one in questions if places[one.context] % FOLDS]


def _passages(questions: Sequence[Question]) -> dict[str, int]:
    return {passage: place for place, passage in enumerate(dict.fromkeys(one.context for one in questions))}


def mismatched(questions: Sequence[Question], every: int) -> list[Question]:
    """Pair every so-manieth question with a passage half the list away: the list goes article by article."""
    n = len(questions)
    return [
        Question(one.text, questions[(place + n // 2) % n].context, 0, one.answers)
        for place, one in enumerate(questions)
        if place % every == 0 and n > 1
    ]


def removed(questions: Sequence[Question], every: int) -> list[Question]:
    """Take the sentences with an accepted answer out of some passages; where nothing is left, the question goes too.

    >>> removed([Question("Who?", "It rained. It was Ann. She left.", 18, ("Ann",))], 1)[0].context
    'It rained. She left.'
    """
    pairs = []
    for one in questions[::every]:
        sentences = [one.context[start:end] for start, end in Sentences.of(one.context).spans]
        left = [each for each in sentences if not any(answer.lower() in each.lower() for answer in one.answers)]
        if left and len(left) < len(sentences):
            pairs.append(Question(one.text, " ".join(left), 0, one.answers))
    return pairs


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
