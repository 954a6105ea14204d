"""The Compare page's script without a browser: two texts, two models, an edit, and what cannot be compared."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from attnviz.ui.examples import examples

PAGE = Path(__file__).parents[2] / "pages" / "compare.py"


@pytest.fixture
def app() -> Iterator[AppTest]:
    st.cache_resource.clear()
    yield AppTest.from_file(str(PAGE), default_timeout=240)
    st.cache_resource.clear()


def opened(app: AppTest, **parameters: str) -> AppTest:
    for name, value in parameters.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    drawn = [each.proto.body for each in app.get("html")]
    return " ".join([*drawn, *(each.value for kind in (app.markdown, app.caption, app.error, app.info) for each in kind)])


def test_tired_and_wide_come_first_and_a_head_is_in_the_address(app):
    opened(app)
    assert "changed most" in said(app)
    assert "“wide”" in said(app)
    assert "layer" not in app.query_params


@pytest.mark.parametrize("example", examples("compare"), ids=lambda each: each.label)
def test_every_example_opens_from_its_link_and_shows_a_change(app, example):
    link = {name: getattr(example, name) for name in ("text", "other", "model", "second", "edits")}
    opened(app, **{name: value for name, value in link.items() if value})
    assert not app.error
    assert "changed most" in said(app)
    assert example.notice in said(app)


def test_the_same_twice_changes_nothing(app):
    opened(app, other=examples("compare")[0].text, layer="3", head="1")
    assert "looks where it looked before" in said(app)


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"edits": "e77.1z"}, "6 layers of 12 heads"),
        ({"edits": "nonsense"}, "is no edit"),
        ({"second": "transformer-en-fr"}, "no encoder|layers of"),
        ({"text": "yes", "other": "no", "model": "bahdanau-en-fr", "edits": "e0.0z"}, "no encoder attention"),
    ],
)
def test_what_cannot_be_compared_gets_one_sentence(app, parameters, wrong):
    opened(app, **parameters)
    assert len(app.error) + len(app.info) == 1
    assert any(part in said(app) for part in wrong.split("|"))
