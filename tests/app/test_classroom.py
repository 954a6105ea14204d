"""Every link of the lesson plan opens the picture that it is for: the page takes each of its parameters, and draws."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attnviz.ui.state import LINK_CHARACTERS

ROOT = Path(__file__).parents[2]
LINKS = re.findall(r"\((http://localhost:8501/[^)\s]*)\)", (ROOT / "docs/classroom.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _fresh() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


def test_there_are_some_of_every_kind() -> None:
    assert {urlsplit(link).path for link in LINKS} >= {"/encode", "/translate", "/compute", "/summarize"}
    assert max(map(len, LINKS)) < LINK_CHARACTERS


@pytest.mark.parametrize("link", dict.fromkeys(LINKS), ids=lambda link: link[22:70])
def test_a_link_opens_its_picture(link: str) -> None:
    parts = urlsplit(link)
    app = AppTest.from_file(str(ROOT / "pages" / f"{parts.path.strip('/')}.py"), default_timeout=120)
    given = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    app.query_params.update(given)
    app.run()
    assert not app.exception
    assert not app.error
    for name, value in given.items():
        # A cell is of a picture, not of a control; a page that cannot show it does not say it again.
        held = app.query_params[name] if name in ("query", "key") else app.session_state[name]
        assert str(held[0] if isinstance(held, list | tuple) else held) == value, name
