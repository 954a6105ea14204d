"""Where a visitor is in a lesson: its name, the step and the answers stand in the address of whatever page is open."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import Lock
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from attnviz import settings
from attnviz.core.errors import LessonError
from attnviz.lessons.answers_in_link import read_answers, write_answers
from attnviz.lessons.given_answers import GivenAnswer, is_hidden
from attnviz.lessons.lesson_file import Lesson, LessonStep
from attnviz.lessons.library import SENT, lessons_of, read_named, read_sent
from attnviz.ui.address.address_sync import Going, peek, query_of
from attnviz.ui.address.parameters import LESSON, Written, read_parameter, renamed, write_parameter

# Of all visitors together; a lesson is small.
LESSONS_KEPT = 64
_GONE = "This lesson was opened from a file, and is not kept here any more: open the file again on the page Lessons."


@dataclass(frozen=True)
class LessonPlace:
    """A lesson under its name in an address, a step of it from 1 (one more than there are: its end), and the answers so far."""

    name: str
    lesson: Lesson
    number: int
    answers: dict[str, GivenAnswer]

    @property
    def is_end(self) -> bool:
        return self.number > len(self.lesson.steps)

    @property
    def step(self) -> LessonStep:
        return self.lesson.steps[self.number - 1]

    @property
    def page(self) -> str:
        """The page that the step is about: that of its picture, else Lessons itself."""
        return "lessons" if self.is_end or self.step.picture is None else self.step.picture.page

    @property
    def hides(self) -> bool:
        """Whether the picture has to wait for an answer."""
        return not self.is_end and is_hidden(self.lesson, self.number, self.answers)


class SentLessons:
    """Lessons that teachers have sent, by their names, at most `most`.

    Where there are more, whoever sent the most loses the one that was opened longest ago: nobody's files push out another's.
    """

    def __init__(self, most: int = LESSONS_KEPT) -> None:
        self._most, self._lock = most, Lock()
        self._lessons: dict[str, tuple[Lesson, str, str]] = {}

    def keep(self, name: str, lesson: Lesson, address: str, visit: str) -> None:
        """Keep a lesson that a visit sent from an address of the network."""
        with self._lock:
            self._lessons.setdefault(name, (lesson, address, visit))
            if len(self._lessons) > self._most:
                addresses = Counter(each[1] for each in self._lessons.values())
                visits = Counter(each[1:] for each in self._lessons.values())
                # Of equal ones the first, which was opened longest ago.
                most = max(self._lessons, key=lambda each: (addresses[self._lessons[each][1]], visits[self._lessons[each][1:]]))
                del self._lessons[most]

    def find(self, name: str) -> Lesson | None:
        """Find a lesson; None: it is not kept, or not any more."""
        with self._lock:
            if (entry := self._lessons.pop(name, None)) is None:
                return None
            self._lessons[name] = entry
            return entry[0]


@st.cache_resource(show_spinner=False)
def _sent_lessons() -> SentLessons:
    return SentLessons()


def keep_sent(data: bytes, name: str) -> str:
    """Keep a lesson that a teacher sends; returns its name in an address.

    Raises:
        LessonError: something is wrong with it.
    """
    key, lesson = read_sent(data, name)
    visit = st.session_state.setdefault("lesson_sender", token_hex(8))
    _sent_lessons().keep(key, lesson, str(st.context.ip_address or ""), visit)
    return key


def offered_lessons() -> dict[str, Path]:
    """The lessons that can be opened here by name: shipped ones, and those of the folder that ATTNVIZ_LESSONS names."""
    folder = settings.text("ATTNVIZ_LESSONS")
    return lessons_of(Path(folder) if folder else None)


def lesson_named(name: str) -> Lesson:
    """Find a lesson by its name in an address.

    Raises:
        LessonError: there is none, or something is wrong with it.
    """
    if not name.startswith(SENT):
        return read_named(name, offered_lessons())
    if (lesson := _sent_lessons().find(name)) is None:
        raise LessonError(_GONE)
    return lesson


def place_of(page: str) -> LessonPlace | None:
    """Where the address of a page stands in a lesson, before the page is run; None: in none.

    Raises:
        LessonError: there is no such lesson.
    """
    written = peek(page)
    name, step, answers = (read_parameter(page, each, written.get(each)) for each in LESSON)
    if not name:
        return None
    lesson = lesson_named(name)
    given = read_answers(answers or "", lesson)
    _journal(name).update(given)
    return LessonPlace(name, lesson, min(step or 1, len(lesson.steps) + 1), given)


def _journal(name: str) -> dict[str, GivenAnswer]:
    """All answers that this visitor has given to a lesson: back and forward of the browser must lose none."""
    return st.session_state.setdefault("lesson_journal", {}).setdefault(name, {})


def all_answers(place: LessonPlace) -> str:
    """Write all answers that this visitor has given to the lesson, those of later steps too."""
    return write_answers(_journal(place.name))


def restore_answers(place: LessonPlace, written: str) -> None:
    """Take answers of before a reload: they stand in the addresses of the steps from the next one on; for a callback."""
    journal = _journal(place.name)
    for number, answer in read_answers(written, place.lesson).items():
        journal.setdefault(number, answer)


def address_of(place: LessonPlace, step: int) -> tuple[str, dict[str, Written]]:
    """The page and the address of a step, with every answer that was given."""
    there = LessonPlace(place.name, place.lesson, step, {**_journal(place.name), **place.answers})
    own: dict[str, Written] = {}
    if not there.is_end and (picture := there.step.picture):
        own = dict(parse_qs(urlsplit(picture.address).query, keep_blank_values=True))
        new = renamed(picture.page, list(own))
        own = {new.get(name, name): value for name, value in own.items()}
    lesson = {"lesson": place.name, "step": str(step)}
    if there.answers:
        lesson["answers"] = str(write_parameter(write_answers(there.answers)))
    if st.session_state.get("address", {}).get("present"):
        lesson["present"] = "true"
    return there.page, {**own, **lesson}


def go_to(place: LessonPlace, step: int, *, replace: bool = False) -> None:
    """Opens a step of the lesson; for a callback."""
    page, address = address_of(place, step)
    st.session_state.going = Going(page, query_of(address), replace)


def leave() -> None:
    """Ends the lesson: the page stays as it is; for a callback."""
    for name in LESSON:
        st.session_state.address.pop(name, None)


def give_answer(place: LessonPlace, number: str, text: str) -> None:
    """Takes an answer, or with an empty one asks for the right one; for a callback."""
    seconds = round(time.monotonic() - st.session_state.get("lesson_begun", {}).get((place.name, number), time.monotonic()))
    given = {**place.answers, number: GivenAnswer(text, seconds)}
    st.session_state.address.update(lesson=place.name, step=str(place.number), answers=write_parameter(write_answers(given)))


def begin(place: LessonPlace, number: str) -> None:
    """Notes when a question was first shown."""
    st.session_state.setdefault("lesson_begun", {}).setdefault((place.name, number), time.monotonic())
