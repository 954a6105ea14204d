"""Answers to a lesson as they are given: which question is next, whether the picture waits for it, and both in an address."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnviz.core.errors import is_unicode

if TYPE_CHECKING:
    # A page's address is read before a lesson, with its Markdown parser, is needed.
    from attnviz.lessons.lesson_file import Lesson, LessonQuestion

MOST_STEPS, MOST_QUESTIONS = 40, 40
# Characters of an answer that is typed: those of a whole lesson stand in an address.
LONGEST_ANSWER = 400
# Nobody thinks longer, and an address takes what it is given.
_MOST_SECONDS = 1_000_000
# Kinds whose right answer no picture shows: the page is drawn while they are open.
TYPED_KINDS = ("choice", "text")


@dataclass(frozen=True)
class GivenAnswer:
    """One answer. `text` is empty where somebody asked for the right one instead."""

    text: str
    seconds: int = 0


Answers = Mapping[str, GivenAnswer]


def open_question(lesson: "Lesson", step: int, answers: Answers) -> "tuple[str, LessonQuestion] | None":
    """Find the first question of a step, from 1, that has no answer yet, with its number."""
    questions = lesson.steps[step - 1].questions
    return next(((number, each) for number, each in _numbered(step, questions) if number not in answers), None)


def is_hidden(lesson: "Lesson", step: int, answers: Answers) -> bool:
    """Whether the picture of a step has to wait: it shows the answer to a question that is still open."""
    questions = lesson.steps[step - 1].questions
    return any(each.kind not in TYPED_KINDS and number not in answers for number, each in _numbered(step, questions))


def _numbered(step: int, questions: "tuple[LessonQuestion, ...]") -> "list[tuple[str, LessonQuestion]]":
    return [(f"{step}.{place}", each) for place, each in enumerate(questions, 1)]


def write_answers(answers: Answers) -> str:
    """Write answers as an address holds them; none: an empty text.

    >>> write_answers({"1.1": GivenAnswer("animal", 7)})
    '[["1.1","animal",7]]'
    """
    rows = [[number, each.text, each.seconds] for number, each in answers.items()]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) if rows else ""


def read_answers(written: str, lesson: "Lesson") -> dict[str, GivenAnswer]:
    """Read the answers of an address: those to questions of the lesson, whoever wrote the others."""
    known = {number for number, _, _ in lesson.questions}
    try:
        rows: Any = json.loads(written)
    except (ValueError, RecursionError):
        return {}
    answers: dict[str, GivenAnswer] = {}
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(number), str(text), int(seconds)] if number in known and number not in answers and _is_answer(text):
                answers[number] = GivenAnswer(text, min(max(int(seconds), 0), _MOST_SECONDS))
    return answers


def _is_answer(text: str) -> bool:
    return len(text) <= LONGEST_ANSWER and is_unicode(text) and "\x00" not in text
