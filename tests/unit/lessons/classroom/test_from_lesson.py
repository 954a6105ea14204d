"""Questions for a class: what phones receive, and keys, each against weights that stand in the test."""

import numpy as np
import pytest

from attnviz.core.errors import ClassError, LessonError
from attnviz.lessons.classroom.class_question import AnswerKey, ClassQuestion, from_record, to_record
from attnviz.lessons.classroom.from_lesson import class_question, next_question
from attnviz.lessons.lesson_file import LessonQuestion, read_lesson
from attnviz.lessons.library import shipped_lessons
from tests.unit.lessons.test_question_kinds import HEAD_0, HEAD_1, PICTURE, Given

WORDS = ("[CLS]", "the(1)", "cat", "saw", "the(2)", "dog", "[SEP]")


def made(kind: str, **fields) -> tuple[ClassQuestion, AnswerKey]:
    return class_question(LessonQuestion(kind, "Which?", fields, 0), PICTURE, Given())


@pytest.mark.parametrize(
    ("kind", "fields", "right", "wrong"),
    [
        ("token", {"from": "cat"}, ["dog"], ["cat", "the(2)"]),
        ("token", {"to": "cat"}, ["saw"], ["cat", "dog"]),
        ("number", {"from": "cat", "to": "dog"}, ["0.2", "29 %", ".11"], ["0.31", "9 %"]),
        ("head", {"from": "saw", "to": "cat"}, ["L0·H0"], ["L0·H1"]),
        ("cell", {}, ["saw → cat"], ["cat → saw"]),
        ("order", {"words": ("saw", "dog", "cat"), "from": "cat"}, ["dog > saw > cat"], ["cat > dog > saw"]),
        ("output", {"choices": ("Le chat.", "La chatte")}, ["Le chat."], ["La chatte"]),
        ("output", {}, ["Le  chat"], ["la chatte"]),
        ("claim", {"claim": "L0·H1: obj -> head"}, ["True"], ["False"]),
        ("choice", {"choices": ("it", "they"), "answer": "they"}, ["they"], ["it"]),
    ],
)
def test_a_key_accepts_what_is_right(kind, fields, right, wrong) -> None:
    question, key = made(kind, **fields)
    assert all(key.accepts(question.read_answer(answer), question.kind) for answer in right)
    assert not any(key.accepts(question.read_answer(answer), question.kind) for answer in wrong)
    assert key.link == PICTURE.address
    assert (question, key) == (
        ClassQuestion(**from_record(to_record(question))),
        AnswerKey(**from_record(to_record(key))),
    )


def test_phones_draw_the_weights_of_the_head_that_is_asked_about() -> None:
    question, key = made("token", **{"from": "cat"})
    assert (question.words, question.choices, question.marked) == (WORDS, WORDS[1:-1], (2,))
    np.testing.assert_allclose(key.weights, HEAD_0[2], atol=1e-3)
    question, key = made("token", to="cat")
    np.testing.assert_allclose(key.weights, HEAD_0[:, 2], atol=1e-3)
    question, key = made("number", **{"from": "saw", "to": "dog"})
    assert question.marked == (3, 5)
    np.testing.assert_allclose(key.weights, HEAD_0[3], atol=1e-3)
    question, key = made("head", **{"from": "saw", "to": "cat"})
    assert (question.rows, question.columns) == (("L0",), ("H0", "H1"))
    np.testing.assert_allclose(key.weights, [HEAD_0[3, 2], HEAD_1[3, 2]], atol=1e-3)
    question, key = made("cell")
    assert (question.rows, question.columns) == (WORDS[1:-1], WORDS[1:-1])
    np.testing.assert_allclose(key.weights, HEAD_0[1:-1, 1:-1].ravel(), atol=1e-3)


def test_what_the_model_reads_is_there_to_read() -> None:
    for fields in ({}, {"choices": ("Le chat.", "La chatte")}):
        assert made("output", **fields)[0].words == ("the cat saw the dog",)
    assert made("choice", choices=("it", "they"), answer="they")[0].words == ()


def test_words_to_order_do_not_stand_in_their_order() -> None:
    question, key = made("order", words=("dog", "saw", "cat"), **{"from": "cat"})
    assert question.choices == ("cat", "dog", "saw")
    assert key.right == ("dog > saw > cat",)


def test_free_text_is_graded_by_nobody() -> None:
    question, key = made("text")
    assert key.accepts(question.read_answer(" It <b>depends</b> "), "text") is None


def test_a_capital_is_another_word() -> None:
    assert not AnswerKey(("The",)).accepts("the", "token")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (ClassQuestion("token", "?", ("a", "b"), (), ("a",)), ["b", "", "a\x00", "A"]),
        (ClassQuestion("number", "?"), ["2", "150 %", "-1", "nan", "1e-3", "half", ""]),
        (ClassQuestion("head", "?", rows=("L0",), columns=("H0", "H1")), ["L0·H2", "L1·H0", "L0H0"]),
        (ClassQuestion("cell", "?", rows=("a",), columns=("b",)), ["b → a", "a"]),
        (ClassQuestion("order", "?", choices=("a", "b")), ["a", "a > a", "a > b > a", "b > c"]),
        (ClassQuestion("text", "?"), ["", " \n", "x" * 201, "\ud800"]),
    ],
)
def test_what_is_no_answer_is_refused(question: ClassQuestion, answers: list[str]) -> None:
    for answer in answers:
        with pytest.raises(ClassError, match="no answer"):
            question.read_answer(answer)


def test_what_does_not_fit_a_phone_is_refused() -> None:
    for arguments in ({"words": ("a",) * 401}, {"rows": ("a",) * 57, "columns": ("b",) * 57}, {"choices": ("x" * 501,)}):
        with pytest.raises(ClassError):
            ClassQuestion("cell", "?", **arguments)
    with pytest.raises(LessonError):
        made("token", **{"from": "dog"})


def test_a_lesson_asks_every_question_once_in_its_order() -> None:
    lesson = read_lesson(shipped_lessons()["what-is-it"])
    asked, numbers = ["asked on the spot"], []
    while upcoming := next_question(lesson, asked):
        numbers.append(upcoming[0])
        asked.append(upcoming[2].ask)
    # 1.1 and 3.1 ask in the same words, of two heads.
    assert len(asked) > len(set(asked))
    assert numbers == [number for number, _, _ in lesson.questions]
