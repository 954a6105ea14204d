"""Every link of the lesson plan opens the picture that it is for: the page takes each of its parameters, and draws."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import streamlit as st

from attnviz.text.url_text import unpack
from attnviz.ui.state import LINK_CHARACTERS
from tests.visits import Visit

ROOT = Path(__file__).parents[2]
LINKS = re.findall(r"\((http://localhost:8501/[^)\s]*)\)", (ROOT / "docs/classroom.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _fresh() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def test_there_are_some_of_every_kind() -> None:
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")} - {"home"}
    assert {urlsplit(link).path.strip("/") for link in LINKS} == pages
    assert max(map(len, LINKS)) < LINK_CHARACTERS


@pytest.mark.parametrize("link", dict.fromkeys(LINKS), ids=lambda link: link[22:70])
def test_a_link_opens_its_picture(link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = urlsplit(link)
    found = parse_qs(parts.query, strict_parsing=bool(parts.query))
    given = {name: values if len(values) > 1 else values[0] for name, values in found.items()}
    visit = Visit(monkeypatch, parts.path.strip("/"), given)
    assert not visit.app.error
    assert any(node.type in ("bidi_component", "plotly_chart") for node in visit.nodes)
    # What a page cannot show, it does not say again; nor what it would show without being asked.
    held = {name: unpack(value) if isinstance(value, str) else value for name, value in visit.address.items()}
    assert held.items() >= given.items()
