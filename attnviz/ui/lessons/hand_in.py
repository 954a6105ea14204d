"""The end of a lesson: how the answers were, and the file that is handed in."""

import streamlit as st

from attnviz.core.errors import AttnvizError
from attnviz.lessons.hand_in import LONGEST_NAME, HandIn, file_name, write_hand_in
from attnviz.lessons.question_kinds import points_of
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.lessons.place import LessonPlace
from attnviz.ui.lessons.source import truth_at
from attnviz.ui.lessons.verdict import answered_html, verdict_html


def show_end(place: LessonPlace) -> None:
    """The points, every answer, and the file with them."""
    summary = st.container()
    student = st.text_input("Your name, if your teacher wants it", key="lesson-student", max_chars=LONGEST_NAME)
    answers = {number: given.text for number, given in place.answers.items() if given.text}
    seconds = {number: float(given.seconds) for number, given in place.answers.items()}
    student = student.strip()[:LONGEST_NAME]
    data = write_hand_in(HandIn(place.lesson.name, answers, seconds, student))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button("Hand in", data, file_name(place.lesson.name, student), "application/json", key="lesson-hand-in",
                           icon=":material/download:", type="primary", on_click="ignore")  # fmt: skip
        st.caption("A small file with your answers. Give it to your teacher, or copy the same text from here:")
    with st.expander("As text", icon=":material/content_copy:"):
        st.code(data.decode("utf-8"), language=None)
    with summary:
        if place.lesson.reveals:
            _show_points(place)
        else:
            _show_answers(place)


def _show_points(place: LessonPlace) -> None:
    """How many points the answers make, and how each of them was; nothing of what was not answered."""
    made, most, parts = 0, 0, []
    for number, _, question in place.lesson.questions:
        if question.kind != "text":
            most += points_of(question)
        if number not in place.answers:
            continue
        given = place.answers[number].text
        try:
            truth = truth_at(place, number)
        except AttnvizError as error:
            st.warning(escaped(error), icon=":material/school:")
            continue
        made += points_of(question) if given and truth.answer and truth.accepts(given) else 0
        parts.append(verdict_html(question, given, truth) if truth.answer else answered_html(question, given))
    _show_summary(place, f"{made} of {most} points.", parts)


def _show_answers(place: LessonPlace) -> None:
    """What was answered, and nothing of how it was."""
    given = [
        (question, place.answers[number].text) for number, _, question in place.lesson.questions if number in place.answers
    ]
    _show_summary(place, "Your teacher has the right answers.", [answered_html(question, text) for question, text in given])


def _show_summary(place: LessonPlace, sentence: str, answers: list[str]) -> None:
    left = sum(number not in place.answers for number, _, _ in place.lesson.questions)
    more = f" {left} question{' is' if left == 1 else 's are'} still open." if left else ""
    st.html(f'<p class="lesson-points">{sentence}{more}</p><div class="lesson-all">{"".join(answers)}</div>')
