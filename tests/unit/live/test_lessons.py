"""Answers to a lesson, graded by the script of its page in Node, against the app's own truth."""

import html
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from attnviz.core.errors import LessonError
from attnviz.lessons.check_lesson import ComputedSource, truths
from attnviz.lessons.hand_in import file_name
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.picture_link import read_link
from attnviz.lessons.question_kinds import QuestionForm, Truth, as_sentence, read_number, same_answer
from attnviz.live.lessons import (
    absent_lessons,
    describe_answer,
    describe_lesson,
    later_files,
    lesson_html,
    lessons_for,
    why_missing,
)
from attnviz.live.page_html import PageFrame, write_lesson_page, write_lessons_page
from attnviz.live.site import build
from tests.javascript import run

RUNNER = Path(__file__).with_name("grade.js")
GIVEN = (
    "animal", " Animal. ", "“ANIMAL”", "animals", "", "0.68", "68 %", ".68", "0,68", "0.73", "0.731", "67", "İ", "…",
    "\u2060ani\u00admal\ufeff", "no\tanswer\x00", "no answer", "C’EST GROSS, L’E\u0301TE\u0301", "»", "sinir",
    "« no\u00a0answer »", "„animal“", "‚c'est groß, l'été‘", "‹animal›", "「animal」", "『no answer』", "SINIR", "sınır",
)  # fmt: skip
FORM = QuestionForm("token", "What?")
ENDS = ("red", "Il ne mange pas.", "You said “Why?”", "»", "“a.”'", "…", "好。", "a. ", "")
GRID = {"rows": ("L0", "L1", "L2", "L3"), "columns": ("H0", "H1", "H2")}


def near(given: str) -> bool:
    value = read_number(given)
    return value is not None and abs(value - 0.68) <= 0.05 + 1e-6


def one_of(*answers: str) -> Truth:
    return Truth(answers[0], "", lambda given: any(same_answer(given, each) for each in answers))


# Forms, each with what is right; of those that are typed all of the above is graded, of the others what can be chosen.
CASES: list[tuple[QuestionForm, Truth]] = [
    (replace(FORM, choices=("Animal", "animals", "it")), one_of("animal")),
    (replace(FORM, kind="number"), Truth("0.68", "", near, value=0.68, tolerance=0.05)),
    (replace(FORM, kind="head", **GRID), one_of("L3·H1", "L2·H0")),
    (replace(FORM, kind="cell", rows=("a", "b"), columns=("a", "b")), one_of("a → b")),
    (replace(FORM, kind="order", choices=("x", "y")), one_of("x > y")),
    (replace(FORM, kind="choice", choices=("true", "false")), one_of("true", "yes")),
    (replace(FORM, kind="text"), one_of("no answer")),
    (replace(FORM, kind="text"), one_of("animal")),
    (replace(FORM, kind="text"), one_of("c'est groß, l'été")),
    (replace(FORM, kind="text"), one_of("sınır")),
]
STUDENTS = ("Ada L.", "../a", "रीमा", "राम", "สุดา", "Zoe\u0308 7", "_a-b_", "٣")


def test_the_first_of_the_list_is_the_one_to_begin_with():
    assert list(lessons_for())[:3] == ["what-is-it", "what-heads-do", "compute-one"]
    assert [*lessons_for([shipped_lessons()["what-is-it"]])] == ["what-is-it"]
    # A file that is named twice is one lesson.
    assert len(lessons_for([shipped_lessons()["what-is-it"]] * 2)) == 1


def test_two_lessons_of_one_name_are_refused():
    with pytest.raises(LessonError, match=r"^b/Mine\.md and mine\.md would be one page of the site"):
        lessons_for([Path("b/Mine.md"), Path("mine.md")])


def test_what_is_wrong_with_a_teachers_lesson_is_said_with_its_name_and_line(tmp_path):
    link = "[Open](/whatif?model=minilm&text=a+car&edits=e9.9z)"
    lesson = tmp_path / "mine.md"
    lesson.write_text(f"---\ntitle: Mine\nminutes: 5\nlanguage: en\nmodels: [minilm]\n---\n\nText.\n\n## One\n\n{link}\n")
    with pytest.raises(LessonError, match=r"^mine\.md, line 10: .* there is no L9·H9"):
        build(tmp_path / "site", ("minilm",), (lesson,), report=lambda _: None)


def test_a_page_grades_as_the_app_does():
    question = LessonQuestion("token", "What?", {"right": "Yes."}, 1)
    answers = [each.answers or (("x > y", "y > x") if each.kind == "order" else GIVEN) for each, _ in CASES]
    cases = [
        {"question": describe_answer(question, form, truth), "answers": given}
        for (form, truth), given in zip(CASES, answers, strict=True)
    ]
    made = run(RUNNER, {"cases": cases, "ends": ENDS, "students": STUDENTS})
    assert len(set(made["named"])) == len(STUDENTS)
    assert [f"a-{each}.json" for each in made["named"]] == [file_name("a", each) for each in STUDENTS]
    assert made["ended"] == [as_sentence(each) for each in ENDS]
    for graded, given, (form, truth) in zip(made["graded"], answers, CASES, strict=True):
        assert dict(zip(given, graded, strict=True)) == {each: truth.accepts(each) for each in given}, form.kind
        assert True in graded
        assert False in graded


def written_lesson(name: str) -> tuple[Lesson, str, dict[str, dict[str, Any]]]:
    """A lesson of ours, all that its page carries, and what is fetched later, by its name."""
    lesson, source = read_lesson(shipped_lessons()[name]), ComputedSource()
    right = truths(lesson, source)
    body = lesson_html(lesson, "../../", lambda _: "")
    page = write_lesson_page(lesson.title, PageFrame("../../", "files", ()), body, describe_lesson(lesson, right, source))
    return lesson, page, later_files(lesson, right, source, "../../", lambda _: "")


def test_of_a_questionnaire_no_right_answer_is_in_the_site():
    _, page, files = written_lesson("questionnaire")
    assert {name for file in files.values() for name in file} <= {"picture"}
    assert page.count("data-question=") == page.count('"graded": false') == 10


def test_a_page_carries_nothing_of_what_it_hides():
    lesson, page, files = written_lesson("what-is-it")
    assert [files[number]["answer"] for number in ("1.1", "1.2")] == ["animal", "68\N{NO-BREAK SPACE}%"]
    # The last step asks nothing that its picture shows, which is that of the first.
    assert [
        step.picture is not None and step.picture.address.split("?")[1] in html.unescape(page) for step in lesson.steps
    ] == [False] * 5
    assert all(f"step-{number}" in files for number in range(1, 6))
    assert files["step-1"]["picture"].startswith("../../encode/?text=The+animal")
    hidden = [file[name] for file in files.values() for name in ("sentence", "if_right", "if_wrong") if file.get(name)]
    hidden += ["0.68", "68\N{NO-BREAK SPACE}%", "L5·", '"right"', '"tolerance"', '"answer"']
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
    shown = lesson_html(replace(lesson, steps=lesson.steps[1:]), "../../", lambda _: "")
    assert 'href="../../encode/?text' in shown
    # A link of a lesson may leave out its first slash.
    bare = replace(lesson.steps[1], prose=step.prose.replace("(/", "("))
    assert lesson_html(replace(lesson, steps=(bare,)), "../../", lambda _: "") == shown


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
    # A site may have the pictures of Write without its model.
    absent = absent_lessons(lessons, partial(why_missing, pages={"write"}, models=("minilm",)))
    assert absent["how-it-writes"] == "It reads with smollm2, a model that is not part of this site."
    absent = absent_lessons(lessons, partial(why_missing, pages={"write"}, models=("smollm2",)))
    assert "smollm2" not in absent.get("how-it-writes", "")
    why = partial(why_missing, pages={"encode", "translate", "write"}, models=("minilm", "bahdanau-en-fr", "smollm2"))
    # Encode runs no model of Write, and of two translators both have to be there.
    assert why(read_link("/encode?model=smollm2&text=a")) == "It opens Encode with smollm2, which the app does."
    two = why(read_link("/translate?models=bahdanau-en-fr&models=transformer-en-fr&text=a"))
    assert two == "It reads with transformer-en-fr, a model that is not part of this site."
    assert not why(read_link("/encode?model=minilm&text=a"))
    train = "It opens Train, which is not part of this site."
    card = write_lessons_page([("", "A model learns", train)], PageFrame("../", "files", ()))
    assert "It opens Train, which" in card
    assert 'href="a-model' not in card


def test_a_picture_waits_where_the_app_hides_it():
    written = lesson_html(read_lesson(shipped_lessons()["what-is-it"]), "../../", lambda _: "")
    steps = re.findall(r'<section class="step" dir="auto"( data-waits)?><h2>(\d)', written)
    # In the app nobody is at the fifth, which shows what the first asks, before the first.
    assert [number for waits, number in steps if waits] == ["1", "2", "3", "4", "5"]
