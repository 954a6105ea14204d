"""Questions for a class: what phones receive, and keys, each against weights that stand in the test."""

import json
from base64 import b64decode
from dataclasses import asdict, replace

import numpy as np
import pytest

from attnviz.core.errors import ClassError, LessonError
from attnviz.core.trace import DenseWeights
from attnviz.lessons.classroom.class_values import (
    AnswerKey,
    ClassOverview,
    ClassQuestion,
    QuestionPlace,
    WallPicture,
    answer_key,
    class_question,
    covered,
    from_record,
    made_up,
    next_question,
)
from attnviz.lessons.lesson_file import LessonQuestion, parse_lesson, read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.lessons.question_kinds import KINDS, Truth
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
        ("claim", {"claim": "L0·H1: obj -> head"}, ["true"], ["false"]),
        ("next", {"choices": ("cat", "mouse", "dog")}, ["dog"], ["cat", "mouse"]),
        ("next", {}, ["Dog"], ["cat"]),
        ("choice", {"choices": ("it", "they"), "answer": "they"}, ["they"], ["it"]),
    ],
)
def test_a_key_accepts_what_is_right(kind, fields, right, wrong) -> None:
    question, key = made(kind, **fields)
    assert all(key.accepts(question.read_answer(answer), question.kind) for answer in right)
    assert not any(key.accepts(question.read_answer(answer), question.kind) for answer in wrong)
    assert key.link == PICTURE.address
    assert (question, key) == (
        ClassQuestion(**from_record(asdict(question))),
        AnswerKey(**from_record(asdict(key))),
    )


def test_a_picture_rounds_no_weight_to_another_percent_than_its_sentence() -> None:
    question = LessonQuestion("token", "Which?", {"from": "a"}, 0)
    key = answer_key(question, ClassQuestion("token", "Which?", ("a", "b")), Truth("a", "", bool, (0.5752, 0.0004, 1e-9)))
    assert key.weights == (0.5752, 0.0004, 1e-9)


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
    question, key = made("next", choices=("cat", "mouse", "dog"))
    assert (question.kind, question.texts) == ("choice", ("the cat saw the dog",))
    np.testing.assert_allclose(key.weights, [0, 0.2, 0.5], atol=1e-3)
    question, key = made("cell")
    assert (question.rows, question.columns) == (WORDS[1:-1], WORDS[1:-1])
    np.testing.assert_allclose(key.weights, HEAD_0[1:-1, 1:-1].ravel(), atol=1e-3)


def test_a_blocked_word_is_covered_wherever_it_stands_and_that_is_said() -> None:
    question, key = covered(*made("token", **{"from": "cat"}), ["DOG", "ca"])
    assert question.words == (*WORDS[:5], "…", "[SEP]")
    assert question.step.picture.columns == question.words
    assert key.picture.rows == question.words
    assert key.right == ("…",)
    assert key.accepts(question.read_answer("…"), "token")
    assert "dog" not in json.dumps([asdict(question), asdict(key)]).replace(PICTURE.address, "")
    assert question.ask.endswith("“…” stands for a word that is not shown here.")
    assert key.sentence.endswith("“…” stands for a word that is not shown here.")
    question, key = covered(*made("order", words=("saw", "dog", "cat"), **{"from": "cat"}), ["dog", "saw"])
    assert sorted(question.choices) == ["cat", "…", "…2"]
    assert key.accepts(question.read_answer(key.right[0]), "order")
    assert covered(*made("cell"), []) == made("cell")


def test_what_the_model_reads_is_there_to_read() -> None:
    for fields in ({}, {"choices": ("Le chat.", "La chatte")}):
        assert made("output", **fields)[0].texts == ("the cat saw the dog",)
    assert made("choice", choices=("it", "they"), answer="they")[0].texts == ()


def test_words_to_order_do_not_stand_in_their_order() -> None:
    question, key = made("order", words=("dog", "saw", "cat"), **{"from": "cat"})
    assert question.choices == ("cat", "dog", "saw")
    assert key.right == ("dog > saw > cat",)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("token", {"from": "cat"}),
        ("number", {"from": "cat", "to": "dog"}),
        ("head", {"from": "saw", "to": "cat"}),
        ("cell", {}),
        ("order", {"words": ("saw", "dog", "cat"), "from": "cat"}),
        ("claim", {"claim": "L0·H1: obj -> head"}),
        ("choice", {"choices": ("it", "they"), "answer": "they"}),
    ],
)
def test_a_preview_has_14_right_guesses_of_23_and_before_the_reveal_none(kind, fields) -> None:
    question, key = made(kind, **fields)
    before, after = (made_up(question, key, revealed=revealed) for revealed in (False, True))
    assert (before.answered, before.results, before.key) == (23, (), None)
    assert after.answered == sum(each.count for each in after.results) == 23
    assert sum(each.count for each in after.results if key.accepts(each.answer, question.kind)) == 14
    assert [each.is_right for each in after.results] == [True, *[False] * (len(after.results) - 1)]
    # Phones could have sent each of them.
    assert all(question.read_answer(each.answer) for each in after.results)


@pytest.mark.parametrize("true", ["0.02", "0.5", "0.97"])
def test_wrong_numbers_of_a_preview_are_wrong_at_both_ends_of_the_scale(true: str) -> None:
    results = made_up(ClassQuestion("number", "?"), AnswerKey((true,), tolerance=0.1), revealed=True).results
    assert [abs(float(each.answer) - float(true)) <= 0.1 for each in results] == [True, False, False, False]
    assert len({each.answer for each in results}) == 4


def test_a_preview_of_what_nobody_grades_tells_of_no_right_guess() -> None:
    assert made_up(*made("text"), revealed=True).results == ()
    guesses = made_up(ClassQuestion("choice", "?", choices=("a", "b")), AnswerKey(), revealed=True).results
    assert [(each.answer, each.is_right) for each in guesses] == [("a", None), ("b", None)]


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


def test_a_lesson_asks_every_question_once_in_its_order_whatever_was_asked_before() -> None:
    lesson = read_lesson(shipped_lessons()["what-is-it"])
    # A question of step 3 came first; the row of 1.1, once revealed, answers 1.2.
    asked = ["3.1"]
    while number := next_question(lesson, asked):
        asked.append(number)
    assert asked == ["3.1", "1.1", "2.1", "4.1", "5.1", "5.2"]


def test_a_share_of_a_row_that_a_new_kind_of_question_reveals_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "several", KINDS["token"])
    text = STEPS.replace("kind: token", "kind: several", 1).replace("kind: token", "kind: number") + "to: cat\n"
    asked = parse_lesson(text.replace("from: the(2)\n```\nto: cat", "from: cat\nto: cat\n```").encode(), "cats.md")
    assert next_question(asked, {"1.1"}) is None


STEPS = """---
title: Cats
minutes: 5
models: [minilm]
---

First of *all*.

## Two rows

Look at <b>one</b> head.

[Open](/encode?text=the+cat+saw+the+dog&layer=0&head=0)

```question
kind: token
ask: Where does “cat” look?
from: cat
hint: Who was seen?
right: Yes.
wrong: No.
```

```question
kind: token
ask: And “the”?
from: the(2)
```
"""


def wall(number: str, text: str = STEPS) -> tuple[ClassQuestion, AnswerKey]:
    place = QuestionPlace("cats", parse_lesson(text.encode(), "cats.md"), number)
    return class_question(place.question, place.step.picture, Given(), place)


def cells(picture: WallPicture) -> np.ndarray:
    return np.frombuffer(b64decode(picture.cells), np.uint8).reshape(-1, len(picture.rows), len(picture.columns)) / 255


def test_the_wall_has_the_step_and_its_picture_without_the_rows_that_answer_this_question_and_later_ones() -> None:
    question, key = wall("1.1")
    step = question.step
    assert (step.lesson, step.number, step.place) == ("cats", "1.1", "Cats · step 1 of 1 · question 1 of 2")
    assert (step.title, step.text) == ("Two rows", "First of all.\nLook at <b>one</b> head.")
    assert "&lt;b&gt;" in step.prose
    assert (step.hint, step.head, key.if_right, key.if_wrong) == ("Who was seen?", "head 0 of layer 0", "Yes.", "No.")
    assert (step.picture.hidden_rows, key.picture.hidden_rows) == ((2, 4), (4,))
    for picture in (step.picture, key.picture):
        expected = HEAD_0.copy()
        expected[list(picture.hidden_rows)] = 0
        np.testing.assert_allclose(cells(picture)[0], expected, atol=0.5 / 255 + 1e-9)
    assert wall("1.2")[0].step.picture.hidden_rows == (4,)


def test_nothing_that_stands_before_the_reveal_depends_on_the_row_that_is_asked_about() -> None:
    shuffled = HEAD_0.copy()
    shuffled[2] = np.roll(HEAD_0[2], 3)
    other = Given()
    attention = replace(other.trace.encoder, store=DenseWeights((np.stack([shuffled, HEAD_1]),)))
    other.trace = replace(other.trace, maps=(attention,))
    for kind, fields in (("token", {"from": "cat"}), ("choice", {"choices": ("a", "b"), "answer": "a", "from": "cat"})):
        asked = LessonQuestion(kind, "Which?", fields, 0)
        (one, key), (same, other_key) = (class_question(asked, PICTURE, source) for source in (Given(), other))
        assert asdict(one) == asdict(same)
        assert key.sentence != other_key.sentence


@pytest.mark.parametrize(
    ("kind", "fields", "rows", "columns"),
    [
        ("number", {"from": "cat", "to": "dog"}, (2,), ()),
        ("head", {"from": "saw", "to": "cat"}, (3,), ()),
        ("order", {"words": ("saw", "dog", "cat"), "from": "cat"}, (2,), ()),
        ("token", {"to": "cat"}, (), (2,)),
        ("cell", {}, tuple(range(7)), ()),
        ("text", {}, (), ()),
    ],
)
def test_each_kind_hides_where_its_answer_stands(kind, fields, rows, columns) -> None:
    question, key = made(kind, **fields)
    picture = question.step.picture
    assert (picture.hidden_rows, picture.hidden_columns) == (rows, columns)
    assert (key.picture.hidden_rows, key.picture.hidden_columns) == ((), ())
    drawn = cells(picture)
    assert len(drawn) == (2 if kind == "head" else 1)
    assert not drawn[:, list(rows)].any()
    assert not drawn[:, :, list(columns)].any()


def test_phones_receive_no_picture_and_the_truth_no_weights_of_other_rows() -> None:
    question, key = wall("1.1")
    common = {"code": "KRTF", "version": 2, "nicknames": False, "number": 1}
    open_ = ClassOverview(**common, state="open", question=question)
    assert open_.picture == question.step.picture
    assert question.step.picture.cells not in json.dumps(open_.for_phones())
    revealed = ClassOverview(**common, state="revealed", question=question, key=key)
    assert revealed.picture == key.picture
    assert key.picture.cells not in json.dumps(revealed.for_phones())


def test_a_true_or_false_question_reveals_numbers() -> None:
    _, key = made("choice", choices=("true", "false"), answer="false", **{"from": "cat", "to": "saw"})
    assert key.sentence == "“cat” gives “saw” 15\N{NO-BREAK SPACE}%, “dog” 20\N{NO-BREAK SPACE}%."
