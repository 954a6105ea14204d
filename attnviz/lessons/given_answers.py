"""Answers to a lesson as they are given: which question is next, and whether the picture waits for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # A page's address is read before a lesson, with its Markdown parser, is needed.
    from attnviz.lessons.lesson_file import Lesson, LessonQuestion

MOST_STEPS, MOST_QUESTIONS = 40, 40
# Characters of an answer that is typed: those of a whole lesson stand in an address.
LONGEST_ANSWER = 400
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
    """Say whether the picture of a step has to wait: it shows the answer to a question that is still open."""
    questions = lesson.steps[step - 1].questions
    return any(each.kind not in TYPED_KINDS and number not in answers for number, each in _numbered(step, questions))


def _numbered(step: int, questions: "tuple[LessonQuestion, ...]") -> "list[tuple[str, LessonQuestion]]":
    return [(f"{step}.{place}", each) for place, each in enumerate(questions, 1)]
