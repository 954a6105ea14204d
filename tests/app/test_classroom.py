"""Every link of the lesson plan opens the picture that it is for: the page takes each of its parameters, and draws."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import attnviz
from attnviz.analysis.summarize.selection import read_passage
from attnviz.analysis.summarize.selectors import selectors
from attnviz.models.catalog import available_for
from attnviz.text.url_text import unpack
from attnviz.ui.address.state import LINK_CHARACTERS
from attnviz.ui.compute.examples import worked_examples
from tests.visits import Visit

ROOT = Path(__file__).parents[2]
LINKS = re.findall(r"\((http://localhost:8501/[^)\s]*)\)", (ROOT / "docs/classroom.md").read_text(encoding="utf-8"))


def test_there_are_some_of_every_kind() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"home"}
    assert {urlsplit(link).path.strip("/") for link in LINKS} == pages
    assert max(map(len, LINKS)) < LINK_CHARACTERS


@pytest.mark.parametrize("link", dict.fromkeys(LINKS), ids=lambda link: link[22:70])
def test_a_link_opens_its_picture(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(link)
    actual = parse_qs(parts.query, strict_parsing=bool(parts.query))
    given = {name: values if len(values) > 1 else values[0] for name, values in actual.items()}
    visit = Visit(monkeypatch, parts.path.strip("/"), given)
    assert not visit.app.error
    assert any(node.type in ("bidi_component", "plotly_chart") for node in visit.nodes)
    # What a page cannot show, it does not say again; nor what it would show without being asked.
    held = {name: unpack(value) if isinstance(value, str) else value for name, value in visit.address.items()}
    assert held.items() >= given.items()


def text_of_link(part: str) -> str:
    """The text of the link that has this part."""
    (link,) = [link for link in LINKS if part in link]
    return parse_qs(urlsplit(link).query)["text"][0]


def test_the_lesson_on_what_matters_asks_one_question_of_one_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    (matters,) = [parse_qs(urlsplit(link).query) for link in LINKS if "/matters?text" in link and "opened" in link]
    answer = next(parse_qs(urlsplit(link).query) for link in LINKS if "/answer?question=When" in link)
    assert matters["pair"] == answer["question"]
    visit = Visit(monkeypatch, "answer", {"question": answer["question"][0]})
    assert matters["text"] == [visit.widgets["typed_passage"].value]


def test_the_four_translators_that_are_compared_differ() -> None:
    names = [name for name in available_for("translate") if name.endswith("-en-fr")]
    text = text_of_link("/translate?text=")
    assert len({attnviz.load(name).trace(text).output for name in names}) == len(names) == 4


def test_the_summary_that_is_compared_with_the_first_sentence_keeps_another() -> None:
    text = text_of_link("/summarize?")
    trace = attnviz.load("minilm").trace(text)
    actual = read_passage(text, trace.encoder.keys)
    compared = {way.name: way for way in selectors(actual, trace, selects=None, layer=5, head=None)}
    attention, first = (compared[name].sentences.argmax() for name in ("Attention, last layer (L5)", "First"))
    assert attention != first == 0


def test_the_lessons_of_compute_open_at_the_softmax_that_the_plan_speaks_of() -> None:
    named = [parse_qs(urlsplit(link).query) for link in LINKS if "/compute?lesson" in link]
    steps = {example.label: example.step for example in worked_examples()}
    assert [(steps[each["lesson"][0]], "divide" in each, "at" in each) for each in named] == [
        ("softmax", False, False), ("softmax", True, False), ("softmax", False, False),
    ]  # fmt: skip
