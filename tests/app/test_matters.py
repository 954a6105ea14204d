"""The Matters page's script without a browser: shaded rows, words that are taken, and one sentence for what cannot be asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

PAGE = Path(__file__).parents[2] / "pages" / "matters.py"
SENTENCE, QUESTION = "Ada Lovelace wrote the first program in 1843.", "Who wrote the first program?"


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
    return " ".join(each.value for kind in (app.markdown, app.caption, app.error) for each in kind)


def test_words_that_were_taken_stand_in_the_address_and_can_be_given_back(app):
    opened(app, text=SENTENCE, pair=QUESTION, taken="0.2.999")
    assert "On this text attention finds what matters" in said(app)
    assert "Without “Who”, “the”, p goes from" in said(app)
    # The last of the three is no word of this text.
    assert app.query_params["taken"] in ("0.2", ["0.2"])
    next(button for button in app.button if button.label == "Give them back").click().run()
    assert not app.exception
    assert "taken" not in app.query_params
    assert "Without" not in said(app)


def test_chance_and_leaving_out_stand_beside_every_way(app):
    opened(app, model="transformer-en-fr", text="I am tired.")
    (table,) = app.dataframe
    assert {"Chance", "Leaving one word out", "Attention rollout"} <= set(table.value["Way"])
    assert float(table.value.set_index("Way")["τ"]["Leaving one word out"]) == 1


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"model": "minilm", "text": "hi there", "pair": ""}, None),
        ({"model": "summarize-en", "text": "One sentence alone."}, "one sentence"),
        ({"text": "?", "pair": QUESTION}, None),
    ],
)
def test_what_cannot_be_asked_gets_one_sentence(app, parameters, says):
    opened(app, **parameters)
    assert len(app.error) <= 1
    assert says is None or says in said(app)
