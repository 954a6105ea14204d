"""Lessons beside pages: an open question hides the picture, an answer brings it; own files are opened, or refused in words."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.lessons.hand_in import read_hand_in
from attnviz.lessons.lesson_file import read_lesson
from attnviz.lessons.library import read_sent, shipped_lessons
from attnviz.ui import lessons
from attnviz.ui.lessons import SentLessons
from tests.visits import PAGES, PATIENCE, html, open_page, press, said

LESSON = """---
title: A <b>lesson</b>
minutes: 5
models: [minilm]
---

Read *this*. <script>alert(1)</script>

## Look

[open](/encode?text=The+cat+sat.&layer=2&head=0) :red[x] $a$

```question
kind: token
ask: Where does “cat” look?
from: cat
right: Indeed.
```

## Think

```question
kind: text
ask: Why?
```
"""
SCRIPT = """
import runpy
import streamlit as st
from attnviz.ui.lessons import run_in_lesson
run_in_lesson("{page}", "{page}", lambda: runpy.run_path("{path}"))
"""


@pytest.fixture
def guesses(monkeypatch: pytest.MonkeyPatch) -> list:
    """What the page asks, in place of the component that asks it."""
    asked: list = []
    monkeypatch.setattr(lessons, "_GUESS", lambda key, data, on_given_change: asked.append(data))
    return asked


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A school's own lessons."""
    (tmp_path / "own.md").write_text(LESSON, encoding="utf-8")
    monkeypatch.setenv("ATTNVIZ_LESSONS", str(tmp_path))
    return tmp_path


def lesson(page: str = "encode", **address: str) -> AppTest:
    app = AppTest.from_string(SCRIPT.format(page=page, path=PAGES / f"{page}.py"), default_timeout=PATIENCE)
    return open_page(app, **{"lesson": "own", "step": "1", "text": "The cat sat.", "layer": "2", "head": "0"} | address)


def given(*rows: tuple[str, str, int]) -> str:
    return json.dumps(rows)


def test_a_picture_waits_for_its_answer(guesses: list) -> None:
    app = lesson()
    assert "Step 1 of 2" in html(app)
    assert guesses[-1][1]["choices"] == ("The", "cat", "sat", ".")
    assert not app.text_area
    assert "·H" not in said(app)
    press(app, "Show the answer")
    assert json.loads(app.query_params["answers"])[0][:2] == ["1.1", ""]
    assert app.text_area
    assert re.search(r"The answer is <strong>\w+</strong>.*“cat” gives “\w+” \d+\s%", html(app))


@pytest.mark.parametrize(
    ("name", "step", "answers"),
    [("what-is-it", 1, ["68\N{NO-BREAK SPACE}%", "“it” gives"]), ("what-is-it", 4, ["of 72 heads send"]),
     ("prettiest-picture", 2, ["The model says"]), ("does-it-matter", 2, ["In order:"])],
)  # fmt: skip
def test_nothing_that_is_sent_to_the_browser_holds_the_answer_of_an_open_question(
    name: str, step: int, answers: list[str]
) -> None:
    opened = read_lesson(shipped_lessons()[name]).steps[step - 1]
    assert opened.picture
    parts = urlsplit(opened.picture.address)
    address = {key: value for key, (value,) in parse_qs(parts.query).items()}
    app = AppTest.from_string(SCRIPT.format(page=parts.path[1:], path=PAGES / f"{parts.path[1:]}.py"), default_timeout=PATIENCE)
    open_page(app, **address, lesson=name, step=str(step))
    sent = b"\n".join(node.proto.SerializeToString() for node in list(app._tree)[1:] if getattr(node, "proto", None))
    assert b"Show the answer" in sent
    own = [question.text(part) for question in opened.questions for part in ("right", "wrong")]
    for text in filter(None, (*answers, *own)):
        assert text.encode() not in sent
        assert json.dumps(text)[1:-1].encode() not in sent


def test_an_answer_in_the_address_is_judged_and_shown(guesses: list) -> None:
    (right,) = re.findall(r"The answer is <strong>(\w+)</strong>", html(lesson(answers=given(("1.1", "", 3)))))
    assert f"Right: <strong>{right}</strong>" in html(app := lesson(answers=given(("1.1", right, 3))))
    assert "Indeed." in html(app)
    assert "You said “&lt;i&gt;”" in html(lesson(answers=given(("1.1", "<i>", 3))))
    assert not guesses


def test_text_of_a_lesson_is_text(guesses: list) -> None:
    shown = html(lesson())
    assert "<script" not in shown
    assert "A &lt;b&gt;lesson&lt;/b&gt;" in shown
    assert ":red[x] $a$" in shown
    assert "href" not in shown


def test_the_end_has_points_and_a_file_that_is_graded(guesses: list) -> None:
    app = lesson("lessons", step="3", answers=given(("1.1", "cat", 3), ("2.1", "so", 9)))
    assert "of 1 point." in html(app)
    hand_in = read_hand_in(app.code[0].value.encode(), "a.json")
    assert (hand_in.lesson, hand_in.answers, hand_in.seconds) == ("own", {"1.1": "cat", "2.1": "so"}, {"1.1": 3.0, "2.1": 9.0})


@pytest.mark.parametrize(("page", "step"), [("encode", "1"), ("lessons", "3")])
def test_a_questionnaire_shows_nobody_how_an_answer_was(page: str, step: str, folder: Path, guesses: list) -> None:
    (folder / "own.md").write_text(LESSON.replace("minutes: 5", "minutes: 5\nreveal: no"), encoding="utf-8")
    for answer in ("cat", ""):
        shown = html(lesson(page, step=step, answers=given(("1.1", answer, 3))))
        assert ("You said “cat”." if answer else "Not answered.") in shown
        assert not re.search("The answer is|Right:|Indeed|of 1 point", shown)


def test_a_step_without_a_picture_asks_on_lessons(guesses: list) -> None:
    lesson("lessons", step="2")
    assert guesses[-1][1]["kind"] == "text"


@pytest.mark.parametrize("name", ["nowhere", "file-000000000000", "../own", "~x"])
def test_a_lesson_that_is_not_here_is_named_and_left(name: str) -> None:
    app = lesson(lesson=name)
    assert len(app.error) == 1
    assert app.text_area
    assert not press(app, "Leave the lesson").error


def test_every_lesson_has_a_card_and_a_broken_one_a_sentence(folder: Path) -> None:
    (folder / "broken.md").write_text(LESSON.replace("kind: token", "kind: riddle"), encoding="utf-8")
    app = open_page("lessons")
    labels = [button.label for button in app.button]
    assert len(labels) == 15
    assert labels[0] == r"**A \<b>lesson\</b>**"
    assert "broken.md, line 13" in app.warning[0].value


@pytest.mark.parametrize(
    ("data", "names"), [(LESSON.encode(), ""), (b"## A", "line 1"), (b"\xff", "UTF-8"), (b"a" * 300_000, "kB")]
)
def test_a_file_that_is_sent_is_opened_or_refused(data: bytes, names: str) -> None:
    app = open_page("lessons")
    app.file_uploader[0].upload("mine.md", data, "text/markdown").run()
    assert [names in each.value for each in app.error] == [True] * bool(names)
    if not names:
        name, _ = read_sent(data, "mine.md")
        assert "Step 1 of 2" in html(lesson(lesson=name))


def test_files_of_one_visitor_push_out_nobody_elses() -> None:
    kept, own = SentLessons(5), read_lesson(shipped_lessons()["what-is-it"])
    kept.keep("teacher", own, "192.0.2.1", "a")
    kept.keep("colleague", own, "192.0.2.2", "b")
    for number in range(20):
        # A visitor of the school's own network, on a page that is opened anew for every other file.
        kept.keep(f"flood-{number}", own, "192.0.2.1", f"c{number // 2}")
        assert kept.find("teacher") is own
    assert kept.find("colleague") is own
    assert [number for number in range(20) if kept.find(f"flood-{number}")][-1] == 19
    assert sum(kept.find(f"flood-{number}") is not None for number in range(20)) == 3
    assert kept.find("nobody") is None


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [("compute", "Why divide by √d", "worked"), ("train", "induction", "topic")],
)
def test_what_pages_called_lesson_before_opens_what_it_opened(page: str, old: str, new: str, guesses: list) -> None:
    for app in (
        open_page(page, lesson=old),
        open_page(
            AppTest.from_string(SCRIPT.format(page=page, path=PAGES / f"{page}.py"), default_timeout=PATIENCE), lesson=old
        ),
    ):
        assert (app.query_params[new], "lesson" in app.query_params) == (old, False)
