"""The ways from a page to others: each opens what stands here, with every text in the place where it is read there."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.visits import open_page

TEXT, FRENCH, QUESTION = "The red car is not new.", "La voiture rouge.", "Which car is red?"


def visited(app: AppTest, key: str, page: str) -> dict[str, str | list[str]]:
    """What the address of the page says after the button of that key."""
    app.button(key=key).click().run()
    assert not app.exception
    return app.session_state.visits[page]


@pytest.mark.parametrize(
    ("page", "address", "expected"),
    [
        (
            "encode",
            {"text": TEXT, "pair": "It is old.", "layer": "2", "head": "5"},
            {"model": "minilm", "text": TEXT, "pair": "It is old.", "seen": "head:encoder:2:5"},
        ),
        # What the decoder reads, not the second sentence, which this model does not read.
        (
            "encode",
            {"model": "transformer-en-fr", "text": TEXT, "pair": "It is old.", "target": FRENCH, "mean": "true"},
            {"model": "transformer-en-fr", "text": TEXT, "pair": FRENCH},
        ),
        (
            "translate",
            {"models": ["transformer-en-fr", "bahdanau-en-fr"], "text": TEXT, "target": FRENCH, "hero": "2"},
            {"model": "bahdanau-en-fr", "text": TEXT, "pair": FRENCH},
        ),
        (
            "answer",
            {"models": ["answer-en"], "passage": TEXT, "question": QUESTION},
            {"model": "answer-en", "text": TEXT, "pair": QUESTION},
        ),
    ],
)
def test_what_matters_is_asked_of_the_texts_that_stand_here(page: str, address: dict, expected: dict) -> None:
    assert visited(open_page(page, **address), "to-matters", "matters") == expected


@pytest.mark.parametrize(
    ("page", "address", "expected"),
    [
        ("encode", {"text": TEXT}, {"text": TEXT, "model": "minilm"}),
        (
            "answer",
            {"models": ["answer-en"], "passage": TEXT, "question": QUESTION},
            {"model": "answer-en", "passage": TEXT, "question": QUESTION},
        ),
    ],
)
def test_which_heads_matter_is_asked_of_the_texts_that_stand_here(page: str, address: dict, expected: dict) -> None:
    assert visited(open_page(page, **address), "to-whatif", "whatif") == {"change": "head", **expected}


def test_home_shows_the_sentence_that_was_read_last() -> None:
    assert open_page("encode", text=TEXT, pair="It is old.").session_state.visits["home"] == {"text": TEXT}
    assert open_page("translate", text=TEXT, target=FRENCH).session_state.visits["home"] == {"text": TEXT}
    assert "home" not in open_page("answer", passage=TEXT, question=QUESTION).session_state.visits


def test_compare_opens_the_sentence_and_that_of_its_example() -> None:
    text = "The animal didn't cross the street because it was too tired."
    expected = {"model": "minilm", "text": text, "other": text.replace("tired", "wide")}
    assert visited(open_page("encode"), "to-compare", "whatif") == expected
