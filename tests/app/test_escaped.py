"""What comes from elsewhere is text, on every page: no name, link, token or file becomes Markdown that is drawn."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.message import Message
from streamlit.testing.v1.element_tree import Node

import attnviz
from attnviz.core.errors import ModelError
from attnviz.lessons.lesson_file import LessonQuestion
from attnviz.models.result import Result
from attnviz.training.background_run import LiveRun
from attnviz.ui import download as opened
from attnviz.ui.background import results as models
from attnviz.ui.classroom import view
from tests import tiny
from tests.answerers import tiny_hub_answerer
from tests.factories import make_map, numbered
from tests.visits import PAGES, Visit

HOSTILE = "![x](http://evil.example/p.png) :material/bomb: $x^2$ :red[y] <b>z</b> **zz**"
FOLDER = "![x](p.png) :red[y] $x^2$ <b> **zz**"
# As a text is cut into tokens, a token alone is never a whole picture: words without spaces that some model keeps whole.
RAW = re.compile(r"(?<!\\)(\]\(http|\[x\]|\[y\]|\$x|<b>|\*\*zz)|:material/bomb:|http://evil")
# The fields of Streamlit's messages that it draws as Markdown; those of these kinds it draws as they stand.
MARKDOWN, PLAIN = (
    {"body", "label", "help", "text", "content", "placeholder_markdown"},
    {"Html", "Code", "Text", "BidiComponent"},
)


def markdown(message: Message) -> Iterator[str]:
    """Every text in a message of Streamlit's that a browser reads as Markdown."""
    if message.DESCRIPTOR.name in PLAIN:
        return
    for field, value in message.ListFields():
        for each in value if field.is_repeated else (value,):
            if isinstance(each, Message):
                yield from markdown(each)
            elif field.name in MARKDOWN and isinstance(each, str):
                yield each


def raw(nodes: list[Node]) -> list[str]:
    """What stands on a page unescaped."""
    actual = (text for node in nodes if isinstance(proto := getattr(node, "proto", None), Message) for text in markdown(proto))
    return [text for text in actual if RAW.search(text)]


@pytest.fixture(autouse=True)
def _folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")


@pytest.fixture(autouse=True)
def _few_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that can follow every model, and one that says why it cannot."""
    monkeypatch.setattr("attnviz.ui.matters.FAST", ("attention", "norms", "random"))
    monkeypatch.setattr("attnviz.ui.matters.SLOW", ())


@pytest.mark.gate
@pytest.mark.parametrize("page", sorted({path.stem for path in PAGES.glob("*.py")} - {"home"}))
def test_a_link_brings_nothing_but_text(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("text", "pair", "question", "passage", "target", "begins", "begins1", "reference", "tokens", "way", "attention")
    names += ("toy_input_reverse", "toy_input_dates", "task", "view", "side", "bertviz", "lesson", "all", "at", "layer", "head")
    address = dict.fromkeys(names, HOSTILE)
    source = {"source": "model"} if page == "compute" else {}
    assert raw(Visit(monkeypatch, page, {**address, **source}).nodes) == []
    named = {"model": HOSTILE, "models": [HOSTILE, f"{HOSTILE}2"]}
    visit = Visit(monkeypatch, page, {**address, **source, **named})
    assert raw(visit.nodes) == []
    assert visit.app.error or page in ("class", "lessons", "train")


@pytest.mark.parametrize("page", tiny.first_now(["answer", "translate", "encode", "compute"]))
def test_the_name_of_a_model_is_text(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / FOLDER
    if page == "answer":
        tiny_hub_answerer(folder)
    else:
        next(family for family in tiny.FAMILIES if family.name == ("bert" if page == "encode" else "marian")).save(folder)
    text = "[x] unknown 中文 " + "le chat " * 30 + HOSTILE
    source = {"source": "model"} if page == "compute" else {}
    visit = Visit(
        monkeypatch,
        page,
        {"models": str(folder), "model": str(folder), "text": text, "passage": text, "question": "[x]?", **source},
    )
    assert visit.actual[0] is not None, [each.value for each in visit.app.error]
    assert raw(visit.nodes) == []


@pytest.mark.parametrize("page", ["encode", "summarize", "compute"])
def test_a_trace_file_brings_nothing_but_text(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = [*(f"w{index}" for index in range(4)), HOSTILE]
    trace = attnviz.from_weights(make_map(numbered(5)).layer_weights(0), tokens, model=HOSTILE)
    result = Result(trace, opened._card(trace), 0.0, file=HOSTILE)
    monkeypatch.setattr(models, "compute_once", lambda *_, **__: result)
    visit = Visit(monkeypatch, page, {"text": trace.prompt.text})
    assert raw(visit.nodes) == []


def test_a_training_that_fails_says_so_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    visit = Visit(monkeypatch, "train")
    run: LiveRun = visit.app.session_state.run
    run.state, run.failure = "failed", ModelError(HOSTILE)
    visit.run()
    assert "zz" in visit.app.error[0].value
    assert raw(visit.nodes) == []
    visit.app.session_state["toy_file_refused"] = str(ModelError(HOSTILE))
    visit.run()
    assert raw(visit.nodes) == []


def test_a_trace_file_that_is_refused_says_so_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    visit = Visit(monkeypatch, "home")
    visit.app.session_state["trace_file_refused"] = str(ModelError(HOSTILE))
    visit.run()
    assert "zz" in visit.app.error[0].value
    assert raw(visit.nodes) == []


def test_a_question_for_the_class_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "taught_class", lambda: ("ABCD", ""))
    monkeypatch.setattr(view, "questions_here", lambda: [view.SpotQuestion(LessonQuestion("text", HOSTILE, {}, 0), None)])
    visit = Visit(monkeypatch, "home")
    assert any("zz" in each.label for each in visit.app.button)
    assert raw(visit.nodes) == []


def test_the_title_of_a_lesson_for_the_class_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lesson = f"---\ntitle: '{HOSTILE}'\nminutes: 5\n---\n\n## A step\n\nRead.\n"
    (tmp_path / "own.md").write_text(lesson, encoding="utf-8")
    monkeypatch.setenv("ATTNVIZ_LESSONS", str(tmp_path))
    visit = Visit(monkeypatch, "class", {"teaches": "what-is-it"})
    assert any("zz" in each.label for each in visit.app.button)
    assert raw(visit.nodes) == []


def test_what_would_be_drawn_is_found() -> None:
    assert all(RAW.search(piece) for piece in HOSTILE.split())
