"""Answers to a lesson in the address of a page: a link opens the lesson with them."""

import json
from typing import TYPE_CHECKING, Any

from attnviz.core.errors import is_unicode
from attnviz.lessons.given_answers import LONGEST_ANSWER, Answers, GivenAnswer

if TYPE_CHECKING:
    # A page's address is read before a lesson, with its Markdown parser, is needed.
    from attnviz.lessons.lesson_file import Lesson

# Nobody thinks longer, and an address takes what it is given.
_MOST_SECONDS = 1_000_000


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
