"""What is handed in is read as a stranger's, and graded as a key made by hand says."""

import csv
import io
import itertools
import json
from pathlib import Path

import pytest

from attnviz.cli import main
from attnviz.core.errors import LessonError
from attnviz.lessons.hand_in import FORMAT, HandIn, grade, grades_csv, read_folder, read_hand_in, write_hand_in
from attnviz.lessons.lesson_file import Lesson, LessonQuestion, LessonStep
from attnviz.lessons.question_kinds import Truth, same_answer

LESSON = Lesson(
    "pets", "Pets", 7, ("minilm",),
    (
        LessonStep(
            "One", "", None, (LessonQuestion("token", "Which?", {"points": "3"}, 1), LessonQuestion("text", "Why?", {}, 2)), 1
        ),
        LessonStep("Two", "", None, (LessonQuestion("choice", "Or?", {}, 3),), 3),
    ),
)  # fmt: skip
RIGHT = {
    number: Truth(answer, "", lambda given, answer=answer: bool(answer) and same_answer(given, answer))
    for number, answer in (("1.1", "cat"), ("1.2", ""), ("2.1", "dog"))
}
# Answers, and the points that a teacher would give by hand.
KEY = [
    ({"1.1": "cat", "1.2": "because", "2.1": "dog"}, 4),
    ({"1.1": "Cat.", "2.1": "cat"}, 3),
    ({"1.1": "dog", "2.1": "Dog"}, 1),
    ({}, 0),
    ({"1.1": "=cat()", "2.1": "<script>"}, 0),
    ({"2.1": "“dog”"}, 1),
    ({"1.1": "", "1.2": "dog", "2.1": ""}, 0),
]


@pytest.mark.parametrize(("answers", "points"), KEY)
def test_points_are_those_of_a_key_made_by_hand(answers: dict[str, str], points: int) -> None:
    given = grade(LESSON, RIGHT, HandIn("pets", answers, {}))
    assert given["1.2"] is None
    assert sum(each for each in given.values() if each is not None) == points


def test_what_is_written_is_read() -> None:
    hand_in = HandIn("pets", {"1.1": "cat", "2.1": "שלום 🐈"}, {"1.1": 7.3, "2.1": 0.0}, "Ada")
    assert read_hand_in(write_hand_in(hand_in), "a.json") == hand_in


def record(**changes: object) -> bytes:
    answers = [{"question": "1.1", "answer": "cat", "seconds": 3}]
    return json.dumps(
        {"format": FORMAT, "version": 1, "lesson": "pets", "student": "Ada", "answers": answers} | changes
    ).encode()


HOSTILE = {
    "nothing": b"",
    "cut short": record()[:-7],
    "no text": b"\xff\xfe\x00",
    "a picture": b"\x89PNG\r\n",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "a number": b"7",
    "another program's": record(format="quiz"),
    "another version's": record(version=2),
    "no answers": record(answers=None),
    "answers of another kind": record(answers={"1.1": "cat"}),
    "an answer that is a number": record(answers=[{"question": "1.1", "answer": 7}]),
    "an answer that is a list": record(answers=[{"question": "1.1", "answer": ["cat"]}]),
    "a question that is none": record(answers=[{"question": None, "answer": "cat"}]),
    "the same question twice": record(answers=[{"question": "1.1", "answer": "cat"}, {"question": "1.1", "answer": "dog"}]),
    "a long answer": record(answers=[{"question": "1.1", "answer": "a" * 5_000}]),
    "a long name": record(student="a" * 81),
    "a name that is none": record(student=7),
    "no lesson": record(lesson=None),
    "half a character": record(answers=[{"question": "1.1", "answer": "\ud800"}]),
    "a NUL byte in a name": record(student="a\x00"),
    "too large": record(padding="a" * 300_000),
    "answers that are strings": record(answers=["cat"]),
    "a page": b"<!doctype html><script>alert(1)</script>",
    "a spreadsheet": b"PK\x03\x04" + b"\x00" * 64,
    "infinity": b"Infinity",
    "two records": record() + record(),
    "a number of digits": b"9" * 10_000,
    "UTF-16": record().decode().encode("utf-16"),
    "a version that is a text": record(version="1"),
}
# What may be written for a word of three points, and for one of one point, as a teacher would give the points by hand.
BY_HAND_OF_THREE = {"cat": 3, "Cat.": 3, " CAT ": 3, "“cat”": 3, "cats": 0, "the cat": 0, "=cat()": 0}
BY_HAND_OF_ONE = {
    "dog": 1, "Dog": 1, "dog!": 1, "'dog'": 1, "d0g": 0, "dog dog": 0, "": 0, "cat": 0, "<b>dog</b>": 0, "dog or cat": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_or_foreign_file_is_one_sentence(name: str) -> None:
    with pytest.raises(LessonError) as raised:
        read_hand_in(HOSTILE[name], "a.json")
    assert "a.json" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert ("no name" in str(raised.value)) == ("name" in name)


@pytest.mark.parametrize("seconds", [None, "7", -1, True, [], 1e400, float("nan")])
def test_seconds_that_are_none_are_zero(seconds: object) -> None:
    data = record(answers=[{"question": "1.1", "answer": "cat", "seconds": seconds}])
    assert read_hand_in(data, "a.json").seconds == {"1.1": 0.0}


def test_seconds_without_end_are_bounded() -> None:
    data = record(answers=[{"question": "1.1", "answer": "cat", "seconds": 10**400}])
    assert read_hand_in(data, "a.json").seconds == {"1.1": 1e6}


def test_points_that_a_file_gives_itself_do_not_count() -> None:
    data = record(points=100, answers=[{"question": "1.1", "answer": "dog", "points": 3, "right": True}])
    assert grade(LESSON, RIGHT, read_hand_in(data, "a.json"))["1.1"] == 0


def table(files: dict[str, HandIn | LessonError]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(grades_csv(files, {"pets": LESSON}, {"pets": RIGHT}).decode("utf-8-sig"))))


def test_the_table_has_a_row_a_student_and_names_what_is_wrong() -> None:
    model, ada, odd, bad = table(
        {
            "ada.json": HandIn("pets", KEY[0][0], {}, "Ada"),
            "odd.json": HandIn("pets", {"9.9": "cat"}, {}, "=1+1"),
            "bad.json": LessonError("bad.json is damaged"),
        }
    )
    assert (model["student"], model["pets 1.1"], model["pets 2.1"]) == ("the model", "cat", "dog")
    assert (ada["student"], ada["points"], ada["of"], ada["pets 1.1 points"], ada["pets 1.2 points"]) == (
        "Ada",
        "4",
        "4",
        "3",
        "",
    )
    assert "9.9" in odd["what is wrong"]
    assert bad["what is wrong"] == "bad.json is damaged"
    assert not odd["points"]


def test_a_hundred_files_get_the_points_of_a_key_made_by_hand(tmp_path: Path) -> None:
    key: dict[str, str] = {}
    for (three, its), (one, other) in itertools.product(BY_HAND_OF_THREE.items(), BY_HAND_OF_ONE.items()):
        name = f"{len(key):03}.json"
        (tmp_path / name).write_bytes(write_hand_in(HandIn("pets", {"1.1": three, "1.2": "free", "2.1": one}, {}, name)))
        key[name] = str(its + other)
    for name, data in HOSTILE.items():
        (tmp_path / f"{name}.json").write_bytes(data)
    rows = {row["file"]: row for row in table(read_folder(tmp_path))}
    assert (len(key), len(HOSTILE)) == (70, 30)
    assert {name: rows[name]["points"] for name in key} == key
    assert [(rows[f"{name}.json"]["points"], rows[f"{name}.json"]["what is wrong"] != "") for name in HOSTILE] == [
        ("", True)
    ] * 30


def test_no_cell_is_a_formula() -> None:
    rows = table({"=a.json": HandIn("pets", {"1.1": "=1+1"}, {}, "@SUM(A1)")})
    assert not [cell for row in rows for cell in row.values() if cell[:1] in tuple("=+@")]


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    (tmp_path / "ada.json").write_bytes(record())
    (tmp_path / "bad.json").write_bytes(b"{")
    (tmp_path / ".hidden").write_bytes(b"{")
    (tmp_path / "folder").mkdir()
    read = read_folder(tmp_path)
    assert [(name, type(each)) for name, each in read.items()] == [("ada.json", HandIn), ("bad.json", LessonError)]


def test_an_empty_folder_and_none_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert main(["grade", str(folder), "-o", str(tmp_path / "grades.csv")]) == 1
        assert str(folder) in capsys.readouterr().err
