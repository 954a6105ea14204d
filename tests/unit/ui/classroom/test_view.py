"""The teacher's page: whether phones get here, and what may be revealed."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.state import SafeSessionState, SessionState, SessionStateProxy, session_state_proxy
from streamlit.testing.v1 import AppTest

from attnviz.core.errors import ClassError
from attnviz.lessons.classroom.class_values import (
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    ClassState,
    ClassStep,
    QuestionPlace,
    StartedClass,
)
from attnviz.lessons.classroom.store import ClassStore
from attnviz.lessons.library import read_named, shipped_lessons
from attnviz.ui.classroom import view


@pytest.mark.parametrize("state", ["waiting", "open", "closed", "revealed", "ended"])
@pytest.mark.parametrize("reveals", [True, False])
def test_an_answer_can_be_revealed_once_and_that_of_a_questionnaire_never(state: ClassState, reveals: bool) -> None:
    asked = ClassQuestion("choice", "?", choices=("a", "b"), step=ClassStep(reveals=reveals))
    overview = ClassOverview("KRTF", 1, state, False, question=None if state == "waiting" else asked)
    assert view._can_reveal(overview) is (reveals and state in ("open", "closed"))
    keys = view._keys(overview, None)
    assert ("Space: reveal" in keys) is view._can_reveal(overview)


def wall() -> None:
    import streamlit as st

    from attnviz.lessons.classroom.class_values import StartedClass
    from attnviz.ui.classroom.view import _wall, show_management

    st.session_state.wall_refused = ""
    teacher = StartedClass("KRTF", "invite", "secret")
    _wall("KRTF", teacher)
    show_management(teacher)


@pytest.mark.parametrize(
    ("state", "offered", "said"),
    [("open", False, []), ("ended", True, []), ("deleted", True, ["This class was deleted."])],
)
def test_behind_a_class_that_is_over_its_teacher_starts_another_and_ends_none(
    state: str, offered: bool, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overview(*_: object) -> ClassOverview:
        if state == "deleted":
            raise ClassError("This class was deleted.", "forbidden")
        return ClassOverview("KRTF", 1, cast(ClassState, state), False)

    monkeypatch.setattr(view, "_overview", overview)
    monkeypatch.setattr(view, "class_store", lambda: SimpleNamespace(overview=overview))
    monkeypatch.setattr(view, "_show_lesson_choice", lambda: None)
    monkeypatch.setattr(view, "_draw_wall", lambda *_, **__: None)
    monkeypatch.setattr(view, "_join_address", lambda *_: ("", "https://attnviz.school.example/join"))
    monkeypatch.setattr(view, "_next_of_lesson", lambda _: None)
    app = AppTest.from_function(wall).run()
    assert not app.exception
    labels = [each.label for each in app.button]
    assert ["Start another class" in labels, "End the class" in labels] == [offered, not offered]
    assert [each.value for each in app.warning] == said


def test_a_second_press_on_a_button_asks_neither_again_nor_the_question_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, buttons = ClassStore(f"sqlite:///{tmp_path / 'classes.sqlite'}"), dict[str, Any]()
    teacher, lesson = store.start(), read_named("what-is-it", shipped_lessons())
    monkeypatch.setattr(view, "class_store", lambda: store)
    monkeypatch.setattr(view, "_question_and_key", lambda _: (ClassQuestion("text", "What do you see?"), AnswerKey()))
    monkeypatch.setattr(view.st, "button", lambda label, key, **more: buttons.update({key: more.get("kwargs")}))
    for number in ("1.1", "2.1"):
        overview = store.overview(teacher.code, teacher.secret)
        view._show_controls(overview, teacher, view.SpotQuestion.of(QuestionPlace("what-is-it", lesson, number)))
        asked = buttons[f"class-ask-{number}"]["class_question"]
        for _ in range(2):
            view._ask(teacher, asked)
        assert store.overview(teacher.code).number == int(number[0])


def test_a_question_whose_run_is_overtaken_is_asked_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, overtaken, asked = SessionState(), threading.Event(), list[object]()

    def leave() -> None:
        if overtaken.is_set():
            raise StopException

    def ask(_: StartedClass, spot: object) -> None:
        asked.append(spot)
        if len(asked) == 1:
            overtaken.set()
            leave()

    monkeypatch.setattr(session_state_proxy, "get_session_state", lambda: SafeSessionState(kept, leave))
    monkeypatch.setattr(view.st, "session_state", SessionStateProxy())
    monkeypatch.setattr(view, "_ask", ask)
    monkeypatch.setattr(view, "_wall", lambda *_: None)
    view.st.session_state["class_question"] = "Which word?"
    with pytest.raises(StopException):
        view.show_class("KRTF", StartedClass("KRTF", "one", "two"))
    overtaken.clear()
    for _ in range(2):
        view.show_class("KRTF", StartedClass("KRTF", "one", "two"))
    assert asked == ["Which word?"] * 2


def reach() -> None:
    from attnviz.ui.classroom.view import _show_reach

    _show_reach()


@pytest.mark.parametrize(
    ("url", "network", "reaches", "said"),
    [
        # Opened at localhost, by an app that listens there only, and by one that the network reaches.
        ("http://localhost:8501/class", "", False, "--host 0.0.0.0"),
        ("http://127.0.0.1:8501/class", "http://192.168.1.7:8501", True, "`192.168.1.7:8501/join`"),
        # In a container, the app listens on every address, and knows none.
        ("http://[::1]:8501/class", "", False, "in a container"),
        ("https://attnviz.school.example/class", "", True, "`attnviz.school.example/join`"),
    ],
)
def test_a_teacher_reads_whether_phones_get_here(
    url: str, network: str, reaches: bool, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "network_address", lambda here: network)
    monkeypatch.setattr(view.st, "context", SimpleNamespace(url=url))
    app = AppTest.from_function(reach).run()
    good, bad = [each.value for each in app.success], [each.value for each in app.warning]
    assert (len(good), len(bad)) == ((1, 0) if reaches else (0, 1))
    assert said in (good or bad)[0]


@pytest.mark.parametrize(("address", "teaches"), [({"layer": "3"}, "what-is-it"), ({"lesson": "seen-before"}, "seen-before")])
def test_a_question_about_a_picture_leaves_the_lesson_of_the_class(
    address: dict[str, str], teaches: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = {"class": {"class": "KRTF", "teaches": "what-is-it"}}
    state = {"taught_class": StartedClass("KRTF", "one", "two"), "address": address, "visits": visits}
    monkeypatch.setattr(view.st, "session_state", SimpleNamespace(**state, get=state.get))
    monkeypatch.setattr(view, "taught_class", lambda: state["taught_class"])
    opened: dict[str, object] = {}
    monkeypatch.setattr(view, "visit", lambda page, **values: opened.update(values))
    view.open_class()
    assert opened == {"class": "KRTF", "teaches": teaches}
