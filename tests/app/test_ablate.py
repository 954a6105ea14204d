"""The Ablate page's script without a browser: costs of every task, the chosen head and its ways, and what was stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.tiny import FAMILIES

PAGE = Path(__file__).parents[2] / "pages" / "ablate.py"


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


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("model", "output"),
    [
        ("minilm", "the last states turn"),
        ("transformer-en-fr", "vieux amis"),
        ("answer-en", "three million"),
        ("summarize-en", "turn"),
    ],
)
def test_every_task_has_its_costs_and_its_curve(app, model, output):
    opened(app, model=model)
    assert not app.error
    assert output in said(app)
    assert "heads off at once it costs" in said(app)


def test_a_head_that_is_chosen_leads_to_its_picture_and_to_its_edit(app):
    opened(app, attention="encoder", layer="3", head="9", to="mean")
    assert "L3·H9" in said(app)
    press(app, "Switch it off")
    assert app.session_state.visits["encode"]["edits"] == "e3.9m"


def test_a_head_that_is_not_there_becomes_the_most_costly(app):
    opened(app, attention="cross", layer="77", head="9")
    assert "number 1 of 72" in said(app)


def test_what_was_stopped_stays_stopped_until_somebody_goes_on(app):
    opened(app, stopped="curve")
    assert "You stopped this." in said(app)
    assert "more than without any other one" in said(app)
    assert "heads off at once it costs" not in said(app)
    press(app, "Continue")
    assert "stopped" not in app.query_params
    assert "heads off at once it costs" in said(app)


def test_a_model_that_cannot_be_edited_gets_one_sentence(app, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNVIZ_ALLOW_FOLDERS", "1")
    next(family for family in FAMILIES if not family.seam).save(tmp_path)
    opened(app, model=str(tmp_path), text="the cat sat")
    assert ["looked at but not edited" in error.value for error in app.error] == [True]
    assert "heads off at once" not in said(app)


def test_an_empty_text_gets_one_sentence(app):
    opened(app, text="")
    assert ["nothing to read" in error.value for error in app.error] == [True]
