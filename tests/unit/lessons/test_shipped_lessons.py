"""The lessons that travel with attnviz pass their own check, and those that teachers write fail it in words."""

from pathlib import Path

import pytest

from attnviz.cli import main
from attnviz.lessons.check import ComputedSource, examine
from attnviz.lessons.hand_in import HandIn, write_hand_in
from attnviz.lessons.lesson_file import parse_lesson, read_lesson
from attnviz.lessons.library import shipped_lessons

LESSON = """---
title: A lesson
minutes: 5
models: [{models}]
---

## A step

[open]({address})

```question
kind: {kind}
ask: Where?
from: {word}
```
"""


@pytest.fixture(scope="module")
def source() -> ComputedSource:
    return ComputedSource()


@pytest.mark.parametrize("name", shipped_lessons())
def test_a_shipped_lesson_has_an_answer_to_every_question(name: str, source: ComputedSource) -> None:
    lesson = read_lesson(shipped_lessons()[name])
    right, wrong = examine(lesson, source)
    assert not wrong
    assert list(right) == [number for number, _, _ in lesson.questions]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ""),
        ({"models": "minilmm"}, "minilm"),
        ({"models": "answer-en"}, "minilm"),
        ({"word": "mouse"}, "mouse"),
        ({"kind": "riddle"}, "riddle"),
        ({"address": "/encode?layer=3&head=1"}, "text"),
        ({"address": "/encode?text=The+cat+sat.&layer=3&head=99"}, "head"),
        ({"address": "/encode?text=The+cat+sat.&layer=3&head=1&edits=e9.0z"}, "layer"),
        ({"address": "/encode?text=The+cat+sat."}, "head"),
        ({"address": "/answer?passage=The+cat+sat."}, "answer-en"),
        ({"kind": "claim\nclaim: obj -> head\nmodel: bert-base-uncased"}, "bert-base-uncased"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(changes: dict[str, str], names: str, source: ComputedSource) -> None:
    address = "/encode?text=The+cat+sat.&layer=2&head=0"
    text = LESSON.format(**{"models": "minilm", "address": address, "kind": "token", "word": "cat"} | changes)
    _, wrong = examine(parse_lesson(text.encode(), "a.md"), source)
    assert [each.startswith("line ") and names in each for each in wrong] == [True] * bool(names)


def test_the_template_passes_and_a_hand_in_of_it_is_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", "pronouns"]) == 0
    assert main(["lesson", "new", "pronouns"]) == 1
    assert main(["lesson", "check", "pronouns.md"]) == 0
    assert "animal" in capsys.readouterr().out
    folder = tmp_path / "handed-in"
    folder.mkdir()
    (folder / "ada.json").write_bytes(write_hand_in(HandIn("pronouns", {"1.1": "animal", "1.2": "0.7"}, {}, "Ada")))
    (folder / "bob.json").write_bytes(write_hand_in(HandIn("elsewhere", {}, {}, "Bob")))
    assert main(["grade", "handed-in", "-o", "grades.csv", "--lesson", "pronouns.md"]) == 0
    table = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    assert "ada.json,Ada,pronouns,2,2" in table
    assert "elsewhere" in table


@pytest.mark.parametrize("name", ["../a", "a b/c", "", "a" * 61])
def test_a_name_that_is_no_file_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lesson", "new", name]) == 1
    assert not list(tmp_path.iterdir())
