"""The page Lessons: a card a lesson, and a box for a lesson of one's own."""

from collections.abc import Collection
from functools import cache
from pathlib import Path

import streamlit as st

from attnviz.core.errors import AttnvizError, LessonError
from attnviz.lessons.lesson_file import LARGEST, Lesson
from attnviz.lessons.library import read_named
from attnviz.ui.background.uploads import check_file
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.lessons.place import LessonPlace, go_to, keep_sent, lesson_named, offered_lessons

# In the order in which a class would take them; lessons of a school's own come first.
_ORDER = (
    "what-is-it", "what-heads-do", "compute-one", "where-attention-was-born", "what-it-does-not-tell",
    "do-heads-mean-something", "does-it-matter", "prettiest-picture", "a-model-learns", "questionnaire",
)  # fmt: skip

_KEPT = (
    "Its links work as long as this app keeps the file: on this server, until it is started again. For links that last, "
    "put the file into the folder that `ATTNVIZ_LESSONS` names."
)


def show_cards() -> None:
    """A card for each lesson, which opens its first step, or the one that this visitor has come to."""
    listed = offered_lessons()
    names = ordered(listed)
    wrong: list[str] = []
    with st.container(key="cards-lessons"):
        for name in names:
            try:
                lesson = _lesson(name, listed[name], listed[name].stat().st_mtime_ns)
            except (AttnvizError, OSError) as error:
                wrong.append(str(error))
            else:
                _card(name, lesson)
    for sentence in wrong:
        st.warning(escaped(sentence), icon=":material/school:")


def ordered(names: Collection[str]) -> list[str]:
    """Order lessons by name as a class would take them."""
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else -1, name))


@cache
def _lesson(name: str, path: Path, changed: int) -> Lesson:
    """A lesson, read again when its file has changed."""
    return read_named(name, {name: path})


def _card(name: str, lesson: Lesson) -> None:
    models = f" · {escaped(', '.join(lesson.models))}" if lesson.models else ""
    with st.container(border=True, gap=None, key=f"card-lesson-{name}"):
        st.button(f"**{escaped(lesson.title)}**", key=f"open-lesson-{name}", type="tertiary", on_click=go_to,
                  args=(LessonPlace(name, lesson, 1, {}), 1))  # fmt: skip
        if lesson.audience:
            st.caption(f"For {escaped(lesson.audience)}.")
        st.caption(f":material/schedule: {lesson.minutes} minutes · {len(lesson.steps)} steps{models}")


def show_upload() -> None:
    """A box for a lesson of one's own; what is wrong with it is one sentence with its line."""
    st.file_uploader("Open a lesson of your own (Markdown)", type=["md"], key="lesson-file", on_change=_receive,
                     max_upload_size=1, help=_KEPT)  # fmt: skip
    if refused := st.session_state.get("lesson_refused"):
        st.error(escaped(refused), icon=":material/school:")


def _receive() -> None:
    """Reads the file, and opens its first step."""
    st.session_state.lesson_refused = ""
    if (chosen := st.session_state["lesson-file"]) is None:
        return
    try:
        check_file(chosen, LARGEST)
        name = keep_sent(chosen.getvalue(), chosen.name)
        go_to(LessonPlace(name, lesson_named(name), 1, {}), 1)
    except LessonError as error:
        st.session_state.lesson_refused = str(error)
    except AttnvizError:
        st.session_state.lesson_refused = f"{chosen.name} has more than {LARGEST // 1000} kB: a lesson is text alone."
