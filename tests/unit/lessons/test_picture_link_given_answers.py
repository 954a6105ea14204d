"""Answers in an address are read as a stranger's, and say what is asked next and what is still hidden."""

import json
from typing import Any

import pytest

from attnviz.core.errors import LessonError
from attnviz.lessons.hand_in import read_answers, write_answers
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep
from attnviz.lessons.picture_link import LONGEST_ANSWER, GivenAnswer, open_question, read_link
from attnviz.lessons.question_kinds import is_hidden
from attnviz.models.base import ModelCard

KINDS = (("token", "choice"), ("text", "head", "number"), ())
STEPS = tuple(LessonStep("A", "", None, tuple(LessonQuestion(kind, "?", {}, 1) for kind in kinds), 1) for kinds in KINDS)
LESSON = Lesson("pets", "Pets", 7, ("minilm",), STEPS)
GIVEN = {"1.1": GivenAnswer("“a” > \\ <b>", 7), "2.1": GivenAnswer(""), "1.2": GivenAnswer("שלום 🐈", 0)}


def test_what_is_written_is_read() -> None:
    assert read_answers(write_answers(GIVEN), LESSON) == GIVEN
    assert write_answers({}) == ""


@pytest.mark.parametrize(
    "row",
    [
        ["9.9", "a", 1], ["1.1", 7, 1], ["1.1", "a"], ["1.1", "a", "1"], ["1.1", "a" * (LONGEST_ANSWER + 1), 1], "1.1",
        ["1.1", "\ud800", 1], ["1.1", "\x00", 1], None, [["1.1"], "a", 1], ["1.1", "a", 1.5], {"1.1": "a"},
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_left_out(row: Any) -> None:
    assert read_answers(json.dumps([row, ["1.2", "b", 10**9]]), LESSON) == {"1.2": GivenAnswer("b", 1_000_000)}


def test_a_layer_of_thousands_of_digits_is_none() -> None:
    card = ModelCard("m", task="", architecture="encoder", n_layers=6, n_heads=12, parameters=0, max_tokens=7, device="")
    with pytest.raises(LessonError, match="name the head"):
        read_link(f"/encode?text=a&head=1&layer={'9' * 5000}").head(card)


@pytest.mark.parametrize("written", ["", "{", "7", "[" * 100_000, '{"1.1": "a"}', "~z~"])
def test_what_holds_no_answers_is_empty(written: str) -> None:
    assert read_answers(written, LESSON) == {}


@pytest.mark.parametrize(
    ("step", "answered", "asked", "hidden"),
    [
        (1, "", "1.1", True), (1, "1.1", "1.2", False), (1, "1.2", "1.1", True), (1, "1.1 1.2", None, False),
        (2, "", "2.1", True), (2, "2.1", "2.2", True), (2, "2.1 2.2", "2.3", True), (2, "2.2 2.3", "2.1", False),
        (3, "", None, False),
    ],
)  # fmt: skip
def test_a_picture_waits_for_every_answer_that_it_shows(step: int, answered: str, asked: str | None, hidden: bool) -> None:
    answers = {number: GivenAnswer("") for number in answered.split()}
    following = open_question(LESSON, step, answers)
    assert (following and following[0], is_hidden(LESSON, step, answers)) == (asked, hidden)
