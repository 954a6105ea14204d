"""The lesson beside the picture: the step's text, its question, how the answers were, and the way to the next step."""

import html
from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.components.v2 import component

from attnviz.core.errors import AttnvizError, LessonError
from attnviz.figures.lessons.guess import SCRIPT, STYLE
from attnviz.lessons.given_answers import TYPED_KINDS, open_question
from attnviz.lessons.guess import guess_of
from attnviz.lessons.lesson_file import LessonQuestion, prose_html
from attnviz.ui.address.address_sync import finish
from attnviz.ui.address.widgets import sent
from attnviz.ui.escape_markdown import escaped
from attnviz.ui.frame.toolbar import fill_toolbar
from attnviz.ui.layout import header, hero
from attnviz.ui.lessons.hand_in import show_end
from attnviz.ui.lessons.hidden_picture import picked_answer, show_hidden_picture
from attnviz.ui.lessons.place import (
    LessonPlace,
    all_answers,
    begin,
    give_answer,
    go_to,
    leave,
    place_of,
    restore_answers,
)
from attnviz.ui.lessons.source import PageSource, truth_at
from attnviz.ui.lessons.verdict import answered_html, verdict_html

_SCRIPT = Path(__file__).with_name("clicker_keys.js")
_KEYS = component("attnviz.lesson-keys", html="<div></div>", js=_SCRIPT.read_text(encoding="utf-8"))
_GUESS = component("attnviz.guess", html='<div class="guess"></div>', css=STYLE, js=SCRIPT)
_GUESS_FIRST = "Guess first: the picture comes when you have answered."


def run_in_lesson(page: str, title: str, run: Callable[[], None]) -> None:
    """Runs a page beside the step of its lesson; in its place draws what is guessed on, until that is answered."""
    try:
        place = None if "going" in st.session_state else place_of(page)
    except LessonError as error:
        st.error(escaped(error), icon=":material/school:")
        st.button("Leave the lesson", key="lesson-leave", on_click=leave)
        place = None
    if place is None:
        run()
    elif page == "lessons" != place.page:
        # A link that names only the lesson and its step.
        go_to(place, place.number, replace=True)
        run()
    else:
        _show_panel(place)
        if place.hides or page == "lessons":
            _show_step(place, page, title)
        else:
            run()


def _show_panel(place: LessonPlace) -> None:
    """What stands beside the picture."""
    with st.container(key="lesson"):
        count = len(place.lesson.steps)
        where = "The end" if place.is_end else f"Step {place.number} of {count}"
        heading = "Hand in" if place.is_end else place.step.title
        intro = place.lesson.intro if place.number == 1 else ""
        prose = "" if place.is_end else prose_html("\n\n".join(filter(None, (intro, place.step.prose))))
        lang = html.escape(place.lesson.language, quote=True)
        st.html(
            f'<div class="lesson-text" lang="{lang}"><p class="lesson-place">{html.escape(place.lesson.title)} · {where}</p>'
            f"<h2>{html.escape(heading)}</h2>{prose}</div>"
        )
        questions = st.container(key="lesson-questions")
        with st.container(key="lesson-steps", horizontal=True):
            st.button("Back", key="lesson-back", icon=":material/arrow_back:", disabled=place.number == 1,
                      on_click=go_to, args=(place, place.number - 1))  # fmt: skip
            if not place.is_end:
                st.button("Finish" if place.number == count else "Next", key="lesson-next", icon=":material/arrow_forward:",
                          type="secondary" if open_question(place.lesson, place.number, place.answers) else "primary",
                          on_click=go_to, args=(place, place.number + 1))  # fmt: skip
            st.button("Leave", key="lesson-leave", icon=":material/close:", type="tertiary", on_click=leave)
        with questions:
            _show_questions(place)
        # Last, when the step and how it was answered are there.
        data = [place.name, place.number, len(place.answers), all_answers(place)]
        _KEYS(key="lesson-keys", data=data, on_kept_change=lambda: _restore(place))


def _restore(place: LessonPlace) -> None:
    """Takes the answers that the tab has kept from before a reload; for a callback."""
    match sent("lesson-keys", "kept"):
        case [str(name), str(kept)] if name == place.name:
            restore_answers(place, kept)


def _show_questions(place: LessonPlace) -> None:
    """How the answers of this step were; and what is asked now, unless that is asked in the picture's place."""
    if place.is_end:
        return
    for at, question in enumerate(place.step.questions, 1):
        number = f"{place.number}.{at}"
        if number not in place.answers:
            if not place.hides and place.page != "lessons":
                _ask(place, number, question)
            return
        given = place.answers[number].text
        is_hidden = not place.lesson.reveals or (place.hides and question.kind not in TYPED_KINDS)
        if is_hidden or question.kind == "text":
            waits = is_hidden and place.lesson.reveals
            st.html(answered_html(question, given, "The answer comes with the picture." if waits else "Not answered."))
            continue
        try:
            st.html(verdict_html(question, given, truth_at(place, number)))
        except AttnvizError as error:
            st.html(answered_html(question, given))
            st.warning(escaped(error), icon=":material/school:")


def _ask(place: LessonPlace, number: str, question: LessonQuestion) -> None:
    """The question, its hint, and what it is answered with."""
    begin(place, number)
    hint = question.text("hint")
    folded = f"<details><summary>Hint</summary>{html.escape(hint)}</details>" if hint else ""
    st.html(f'<div class="lesson-ask"><p dir="auto">{html.escape(question.ask)}</p>{folded}</div>')

    def given() -> None:
        match sent("lesson-guess", "given"):
            # A click that comes late may answer the question before.
            case [asked, str(text)] if asked == f"{place.name} {number}" and text.strip():
                give_answer(place, number, text.strip()[:_longest])

    try:
        guess = guess_of(question, place.step.picture, PageSource())
    except AttnvizError as error:
        st.error(escaped(error), icon=":material/school:")
    else:
        _longest = guess.longest
        picked = picked_answer(place, number)
        _GUESS(key="lesson-guess", data=[f"{place.name} {number}", guess.record, picked], on_given_change=given)
    label = "Show the answer" if place.lesson.reveals and question.kind != "text" else "Go on without an answer"
    st.button(label, key="lesson-skip", type="tertiary", on_click=give_answer, args=(place, number, ""))
    if place.hides:
        show_hidden_picture(place, number, question)


def _show_step(place: LessonPlace, page: str, title: str) -> None:
    """What stands in the picture's place: the open question of the step; at the end of the lesson what is handed in."""
    header(title, "What you have answered." if place.is_end else _GUESS_FIRST if place.hides else "", page=page)
    with hero():
        if place.is_end:
            show_end(place)
        elif asked := open_question(place.lesson, place.number, place.answers):
            _ask(place, *asked)
        else:
            button = "Finish" if place.number == len(place.lesson.steps) else "Next"
            st.html(f'<p class="lesson-done">Every question of this step is answered: go on with {button}.</p>')
    fill_toolbar("Opens this step of the lesson, with your answers")
    finish()
