"""What a student hands in: a small JSON file of answers. It is read as if a stranger had made it, and graded by the models."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import regex

from attnviz.core.errors import LessonError, is_unicode
from attnviz.lessons.lesson_file import Lesson
from attnviz.lessons.picture_link import LONGEST_ANSWER, Answers, GivenAnswer
from attnviz.lessons.question_kinds import Truth, points_of

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


# Bytes of a file, characters of an answer and of a name.
LARGEST, LONGEST_IN_FILE, LONGEST_NAME = 200_000, 4_000, 80
FORMAT = "attnviz hand-in"


@dataclass(frozen=True)
class HandIn:
    """Answers of one student to one lesson.

    answers  by the number of the question, such as "2.1"
    seconds  how long each took, where it is known
    """

    lesson: str
    answers: Mapping[str, str]
    seconds: Mapping[str, float]
    student: str = ""


def write_hand_in(hand_in: HandIn) -> bytes:
    """Write the file that a student hands in.

    >>> read_hand_in(write_hand_in(HandIn("what-is-it", {"1.1": "animal"}, {}, "Ada")), "a.json").answers
    {'1.1': 'animal'}
    """
    answers = [
        {"question": number, "answer": answer, "seconds": round(hand_in.seconds.get(number, 0), 1)}
        for number, answer in hand_in.answers.items()
    ]
    record = {"format": FORMAT, "version": 1, "lesson": hand_in.lesson, "student": hand_in.student, "answers": answers}
    return json.dumps(record, ensure_ascii=False, indent=1).encode("utf-8")


def file_name(lesson: str, student: str) -> str:
    """Name a file so that those of a class lie in one folder: by the student's name, else by the moment and a chance number.

    >>> file_name("what-is-it", "Ada L."), file_name("what-is-it", "../a")
    ('what-is-it-Ada-L.json', 'what-is-it-a.json')
    """
    # Vowels that are written as marks, as in Hindi and Thai, are parts of a name: to Python's own `re` they are none of a word.
    name = regex.sub(r"[^\w\p{M}]+", "-", student).strip("-")
    moment = f"{time.strftime('%H%M%S')}-{secrets.randbelow(1000):03}"
    return f"{lesson}-{name or moment}.json"


def read_hand_in(data: bytes, name: str) -> HandIn:
    """Read what was handed in; everything in it besides the answers is ignored, such as points that it gives itself.

    Raises:
        LessonError: it is no hand-in, or a damaged one; the message says why.
    """
    if len(data) > LARGEST:
        raise LessonError(f"{name} has more than {LARGEST // 1000} kB: this is no hand-in of attnviz.")
    try:
        record = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LessonError(f"{name} is damaged, or no hand-in of attnviz: ask for the file again.") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT or record.get("version") != 1:
        raise LessonError(f"{name} is no hand-in of attnviz: ask for the file that “Hand in” saves.")
    answers, seconds = {}, {}
    written = record.get("answers")
    if not isinstance(written, list):
        raise LessonError(f"{name} holds no answers: ask for the file again.")
    for each in written:
        number, answer = (each.get("question"), each.get("answer")) if isinstance(each, dict) else (None, None)
        if not _is_text(number, 12) or not _is_text(answer, LONGEST_IN_FILE):
            raise LessonError(f"{name} holds an answer that is none: ask for the file again.")
        if number in answers:
            raise LessonError(f"{name} answers question {number} twice: ask for the file again.")
        answers[number] = answer
        seconds[number] = _seconds(each.get("seconds"))
    lesson, student = record.get("lesson"), record.get("student", "")
    if not _is_text(lesson, 200):
        raise LessonError(f"{name} does not say which lesson it answers: ask for the file again.")
    if not _is_text(student, LONGEST_NAME):
        raise LessonError(f"{name} has no name that can be read, of at most {LONGEST_NAME} characters: ask for the file again.")
    return HandIn(lesson, answers, seconds, student)


def _is_text(value: Any, most: int) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= most and is_unicode(value) and "\x00" not in value


def _seconds(value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(min(value, 1_000_000)) if number and 0 <= value < float("inf") else 0.0


def read_folder(folder: Path) -> dict[str, HandIn | LessonError]:
    """Read every file of a folder, by its name; what cannot be read stands in its place.

    Raises:
        LessonError: there is no such folder, or it is empty.
    """
    if not folder.is_dir():
        raise LessonError(f"There is no folder {folder}: name the one that holds what was handed in.")
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not paths:
        raise LessonError(f"{folder} is empty: put the files that were handed in there.")
    read: dict[str, HandIn | LessonError] = {}
    for path in paths:
        try:
            if path.stat().st_size > LARGEST:
                raise LessonError(f"{path.name} has more than {LARGEST // 1000} kB: this is no hand-in of attnviz.")
            read[path.name] = read_hand_in(path.read_bytes(), path.name)
        except LessonError as error:
            read[path.name] = error
        except OSError as error:
            read[path.name] = LessonError(f"{path.name} cannot be read ({error.strerror}): copy it again.")
    return read


def grade(lesson: Lesson, right: Mapping[str, Truth], hand_in: HandIn) -> dict[str, int | None]:
    """Give each question its points: 0 where the answer is wrong or missing, None where nothing is graded.

    Raises:
        LessonError: it answers a question that the lesson does not have.
    """
    known = {number: question for number, _, question in lesson.questions}
    if foreign := next((number for number in hand_in.answers if number not in known), None):
        raise LessonError(f"Question {foreign[:12]} is none of “{lesson.title}”: it answers another edition of the lesson.")
    return {
        number: None
        if not right[number].answer
        else points_of(question) * right[number].accepts(hand_in.answers.get(number, ""))
        for number, question in known.items()
    }


def grades_csv(
    files: Mapping[str, HandIn | LessonError], lessons: Mapping[str, Lesson], right: Mapping[str, Mapping[str, Truth]]
) -> bytes:
    """Write a row a student, and of every question the answer and its points; the first rows have the models' own answers."""
    from attnviz.export.csv_table import csv_table

    used = [name for name in lessons if any(isinstance(each, HandIn) and each.lesson == name for each in files.values())]
    columns = [(name, number) for name in used for number, _, _ in lessons[name].questions]
    titles = [f"{name} {number}" for name, number in columns]
    heading = ["file", "student", "lesson", "points", "of", "what is wrong"]
    heading += [part for title in titles for part in (title, f"{title} points")]
    rows: list[list[object]] = []
    for name in used:
        cells = [(right[name][number].answer, "") if lesson == name else ("", "") for lesson, number in columns]
        rows.append(["", "the model", name, "", "", "", *[part for pair in cells for part in pair]])
    rows += [_grade_row(file, each, lessons, right, columns) for file, each in files.items()]
    return csv_table(heading, rows)


def _grade_row(
    file: str,
    hand_in: HandIn | LessonError,
    lessons: Mapping[str, Lesson],
    right: Mapping[str, Mapping[str, Truth]],
    columns: list[tuple[str, str]],
) -> list[object]:
    try:
        if isinstance(hand_in, LessonError):
            raise hand_in
        if hand_in.lesson not in lessons:
            raise LessonError(f"{file} answers the lesson {hand_in.lesson[:60]!r}, which is not here: name its file.")
        lesson = lessons[hand_in.lesson]
        points = grade(lesson, right[lesson.name], hand_in)
    except LessonError as error:
        lesson_name = hand_in.lesson if isinstance(hand_in, HandIn) else ""
        return [file, "", lesson_name, "", "", str(error), *[""] * (2 * len(columns))]
    most = sum(points_of(question) for number, _, question in lesson.questions if points[number] is not None)
    cells: list[object] = []
    for name, number in columns:
        own = name == lesson.name
        given = points[number] if own else None
        cells += [hand_in.answers.get(number, "") if own else "", "" if given is None else given]
    total = sum(each for each in points.values() if each is not None)
    return [file, hand_in.student, lesson.name, total, most, "", *cells]
