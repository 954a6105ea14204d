"""Where lessons lie: those that travel with attnviz, a folder of the school's, and files that teachers send."""

import hashlib
from collections.abc import Collection
from pathlib import Path

from attnviz.core.errors import LessonError, nearest
from attnviz.lessons.lesson_file import Lesson, parse_lesson, read_lesson
from attnviz.lessons.question_kinds import check_fields
from attnviz.settings import assets_folder

# The name of a lesson that was sent begins so, and ends with a part of its SHA-256: the same file has the same link.
SENT = "file-"
_DIGITS = 12
# In the order in which a class would take them; lessons of a school's own come first.
_ORDER = (
    "what-is-it", "what-heads-do", "compute-one", "where-attention-was-born", "what-it-does-not-tell",
    "do-heads-mean-something", "does-it-matter", "prettiest-picture", "a-model-learns", "how-it-writes", "seen-before",
    "who-gets-the-drink", "looking-is-not-doing", "questionnaire",
)  # fmt: skip


def shipped_lessons() -> dict[str, Path]:
    """List the lessons that travel with attnviz, by name.

    >>> "what-is-it" in shipped_lessons()
    True
    """
    return _of_folder(assets_folder() / "lessons")


def lessons_of(folder: Path | None) -> dict[str, Path]:
    """List the lessons that travel with attnviz and those of a folder, by name; the folder's take the place of others."""
    return shipped_lessons() | (_of_folder(folder) if folder else {})


def _of_folder(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.md")) if path.is_file()}


def ordered(names: Collection[str]) -> list[str]:
    """Order lessons by name as a class would take them."""
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else -1, name))


def read_named(name: str, listed: dict[str, Path]) -> Lesson:
    """Read a lesson by its name.

    Raises:
        LessonError: there is none of that name, or something is wrong with it.
    """
    if name not in listed:
        meant = nearest(name, list(listed), 1)
        raise LessonError(
            f"There is no lesson {name[:60]!r}: {f'did you mean {meant[0]}?' if meant else 'choose another one.'}"
        )
    return _checked(read_lesson(listed[name]))


def read_sent(data: bytes, name: str) -> tuple[str, Lesson]:
    """Read a lesson that somebody sends; returns the name that links know it by, too.

    Raises:
        LessonError: something is wrong with it; the message has the line.
    """
    return SENT + hashlib.sha256(data).hexdigest()[:_DIGITS], _checked(parse_lesson(data, name))


def _checked(lesson: Lesson) -> Lesson:
    """Check that a lesson's questions have what their kinds need, and return it; what only a model can tell is told later."""
    for _, _, question in lesson.questions:
        try:
            check_fields(question)
        except LessonError as error:
            raise LessonError(f"{lesson.name}.md, line {question.line}: {error}") from error
    return lesson
