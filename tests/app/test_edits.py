"""Edits on the pages: what they change is told before and after, what is wrong with them in one sentence; nothing is lost."""

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import NumberInput

import attnviz
from attnviz.core.edits import Edits
from tests.visits import html, open_page, said

TEXT = "The animal didn't cross the street because it was too tired."


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ("bogus", "'bogus' is no edit: write one as e3.1z"),
        ("e9.0z", "there is no L9·H0: edit one that there is."),
        ("e0.0w1.1-2", "A weight is a number from 0 to 1"),
        ("e0.0w1.1-nan", "is no edit"),
        ("e0.0c1.99", "There is no key 99 in the encoder attention over this text: it has 16"),
        (",".join(f"e0.0c1.{key}" for key in range(16)), "leave"),
        ("e0.0pOther%20text", "length"),
        ("e0.0z," * 2_000, "longer than an address can carry"),
    ],
    ids=("none", "head", "weight", "nan", "key", "row", "patch", "many"),
)
def test_a_bad_edit_is_one_sentence_and_the_picture_stays(edits: str, says: str) -> None:
    app = open_page("encode", edits=edits, text=TEXT)
    (error,) = app.error
    assert says in error.value.replace("\\", "")
    assert app.text_area(key="typed").value == TEXT
    assert "with weight 68\xa0%" in html(app)


def test_the_edited_head_is_what_the_model_has_then() -> None:
    app = open_page("encode", edits="e0.2z,e1.4z,e3.1c9.2", layer="3", head="1", query="9", key="4")
    weight = attnviz.load("minilm").trace(TEXT, edits="e0.2z,e1.4z,e3.1c9.2").encoder.weights(3, 1)[9, 4]
    assert f"with weight {100 * weight:.0f}\xa0%" in html(app)
    before = open_page("encode", edits="e0.2z,e1.4z,e3.1c9.2", edit_view="Before", layer="3", head="1", query="9", key="4")
    weight = attnviz.load("minilm").trace(TEXT).encoder.weights(3, 1)[9, 4]
    assert f"with weight {100 * weight:.0f}\xa0%" in html(before)


def test_another_text_keeps_heads_and_drops_places() -> None:
    app = open_page("encode", edits="e0.2z,e3.1c9.2,ek3")
    app.text_area(key="typed").set_value("The dog slept.")
    next(button for button in app.button if button.label == "Run").click()
    app.run()
    assert app.query_params["edits"] == "e0.2z"
    (toast,) = app.toast
    assert toast.value == "2 edits of words of the text before were dropped."
    app.selectbox(key="model").set_value("transformer-en-fr").run()
    assert "edits" not in app.query_params


def test_one_press_takes_the_last_edit_back_and_one_all() -> None:
    app = open_page("encode", editing="true", edits="e0.2z")
    app.button(key="edit-head").click().run()
    assert Edits.parse(app.query_params["edits"]) == Edits.parse("e0.2z,e3.1z")
    app.button(key="undo-edit").click().run()
    assert app.query_params["edits"] == "e0.2z"
    app.button(key="edit-word").click().run()
    app.button(key="restore-edits").click().run()
    assert "edits" not in app.query_params
    app.button(key="undo-edit").click().run()
    assert app.query_params["edits"] == "e0.2z,ek2"


def weight_box(app: AppTest) -> NumberInput:
    return next(box for box in app.number_input if str(box.key).startswith("edit-weight"))


def test_a_change_that_cannot_be_made_is_taken_back_and_the_last_picture_stays() -> None:
    """Of “it”, “tired” has the weight .9: it cannot be hidden as well."""
    app = open_page("encode", editing="true", edits="e0.2z", text=TEXT, layer="2", head="0", query="10", key="13")
    weight_box(app).set_value(0.9).run()
    edits, drawn = app.query_params["edits"], html(app)
    assert edits == "e0.2z,e2.0w10.13-0.9"
    assert "weight 90\xa0%" in drawn
    app.button(key="edit-word").click().run()
    (toast,) = app.toast
    assert "“tired” hidden in every layer" in toast.value
    assert toast.value.endswith("In L2·H0, “it” cannot look at “tired”: that is masked.")
    assert not app.error
    assert (app.query_params["edits"], html(app)) == (edits, drawn)
    # What was refused is no step back.
    app.button(key="undo-edit").click().run()
    assert app.query_params["edits"] == "e0.2z"


def test_edits_of_an_address_that_cannot_be_made_are_called_nothing_else() -> None:
    app = open_page("encode", editing="true", edits="e2.0w10.13-0.9,ek13", text=TEXT)
    (error,) = app.error
    assert "masked" in error.value
    assert not [each for each in app.get("button_group") if "After" in str(each.proto)]
    assert "shown as it is" in said(app)
    app.button(key="drop-edits").click().run()
    assert not app.error
    assert "edits" not in app.query_params


def test_undo_takes_the_latest_edit_back_after_a_reload_too() -> None:
    app = open_page("encode", editing="true", text=TEXT)
    app.button(key="edit-link").click().run()
    app.button(key="edit-head").click().run()
    link, head = app.query_params["edits"].split(",")
    assert Edits.parse(head) == Edits.parse("e3.1z")
    reloaded = open_page("encode", editing="true", text=TEXT, edits=app.query_params["edits"])
    assert reloaded.query_params["edits"] == app.query_params["edits"]
    reloaded.button(key="undo-edit").click().run()
    assert reloaded.query_params["edits"] == link


def test_what_was_edited_at_once_is_taken_back_at_once() -> None:
    """The mean of a layer is switched off as one: all of its heads."""
    app = open_page("encode", editing="true", edits="e0.2z", mean="true", layer="2")
    app.button(key="edit-head").click().run()
    reloaded = open_page("encode", editing="true", edits=app.query_params["edits"], mean="true", layer="2")
    assert len(Edits.parse(reloaded.query_params["edits"]).each) == 13
    reloaded.button(key="undo-edit").click().run()
    assert reloaded.query_params["edits"] == "e0.2z"


@pytest.mark.parametrize("weight", [7.0, -0.25])
def test_a_weight_beyond_its_bounds_is_refused_in_words(weight: float) -> None:
    app = open_page("encode", editing="true")
    weight_box(app).set_value(weight).run()
    (toast,) = app.toast
    assert "A weight is a number from 0 to 1" in toast.value
    assert "edits" not in app.query_params


def test_a_weight_that_leaves_no_room_is_refused_and_nothing_is_lost() -> None:
    app = open_page("encode", editing="true", edits="e3.1w10.0-0.8")
    weight_box(app).set_value(0.9).run()
    (toast,) = app.toast
    assert "a row has 1 to give" in toast.value
    assert app.query_params["edits"] == "e3.1w10.0-0.8"
