"""Every link of the lessons and of the guide to them opens its picture: the page takes each of its parameters, and draws.

One link of each page is opened after a change, the others by the gate: what pages take has tests of its own.
"""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from attnviz.lessons.lesson_file import read_lesson
from attnviz.lessons.library import shipped_lessons
from attnviz.models.worked_examples import worked_examples
from attnviz.pages_and_addresses import unpack
from attnviz.ui.address.address_sync import LINK_CHARACTERS
from tests.visits import Visit, open_page, press, said

ROOT = Path(__file__).parents[2]
GUIDE = re.findall(r"\(http://localhost:8501(/[^)\s]*)\)", (ROOT / "docs/classroom.md").read_text(encoding="utf-8"))
LESSONS = {name: read_lesson(path) for name, path in shipped_lessons().items()}
STEPS = [step.picture.address for lesson in LESSONS.values() for step in lesson.steps if step.picture]
LINKS = [*dict.fromkeys(STEPS), *(link for link in GUIDE if "lesson=" not in link)]
FIRST = {urlsplit(link).path: link for link in reversed(LINKS)}.values()


def test_there_are_some_of_every_kind() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"class", "home", "lessons", "summarize"}
    assert {urlsplit(link).path.strip("/") for link in LINKS} == pages
    assert max(map(len, LINKS)) < LINK_CHARACTERS
    assert [f"/lessons?lesson={name}&step=1" in GUIDE for name in LESSONS] == [True] * len(LESSONS)


@pytest.mark.parametrize(
    "link",
    [pytest.param(link, marks=() if link in FIRST else pytest.mark.gate, id=link[:50]) for link in LINKS],
)
def test_a_link_opens_its_picture(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(link)
    actual = parse_qs(parts.query, strict_parsing=bool(parts.query))
    given = {name: values if len(values) > 1 else values[0] for name, values in actual.items()}
    visit = Visit(monkeypatch, parts.path.strip("/"), given)
    assert not visit.app.error
    assert any(node.type == "bidi_component" for node in visit.nodes)
    # What a page cannot show, it does not say again; nor what it would show without being asked.
    held = {name: unpack(value) if isinstance(value, str) else value for name, value in visit.address.items()}
    assert held.items() >= given.items()


def test_the_lesson_on_what_matters_asks_one_question_of_one_passage() -> None:
    answer, matters = (step.picture for step in LESSONS["does-it-matter"].steps[:2])
    assert answer is not None
    assert matters is not None
    assert (answer.prompt.question, answer.prompt.text) == (matters.get("pair"), matters.prompt.text)


def test_the_lessons_of_compute_open_at_the_softmax_that_the_steps_speak_of() -> None:
    named = [parse_qs(urlsplit(link).query) for link in LINKS if "/compute?worked" in link]
    steps = {example.label: example.step for example in worked_examples()}
    assert [(steps[each["worked"][0]], "divide" in each, "at" in each) for each in named] == [
        ("softmax", True, False), ("softmax", False, False),
    ]  # fmt: skip


def test_a_teacher_who_comes_without_a_lesson_sees_which_there_are() -> None:
    app = open_page("class")
    titles = {lesson.title for lesson in LESSONS.values()}
    assert titles <= {button.label.strip("*") for button in app.button}
    press(app, f"**{LESSONS['what-heads-do'].title}**")
    assert app.query_params["teaches"] == "what-heads-do"
    assert [button.label.strip("*") for button in app.button].count("Compute one") == 1
    assert "Pupils need to know" in said(app)
