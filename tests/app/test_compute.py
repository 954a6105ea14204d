"""The Compute page's script without a browser: what it computes, what its address opens, and what it says of bad input."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.core.errors import TraceError
from attnviz.core.trace import Prompt
from attnviz.models.worked_examples import TABLES, WorkedExample, numbers_text, random_numbers, worked_examples
from attnviz.ui import compute as mounted
from tests.tiny import FAMILIES, first_now
from tests.translators import tiny_translator
from tests.visits import open_page, script
from tests.worded import described

PAGE = "compute"
TEXT = "The red car is not new."


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the page gives to the browser to draw, the last at the end."""
    actual: list[dict[str, Any]] = []
    computation = mounted.computation

    def kept(*arguments: Any, **options: Any) -> dict[str, Any]:
        actual.append(computation(*arguments, **options))
        return actual[-1]

    monkeypatch.setattr(mounted, "computation", kept)
    return actual


def step(drawn: list[dict[str, Any]], symbol: str) -> dict[str, Any]:
    return next(each for each in described(drawn[-1])["steps"] if each["symbol"] == symbol)


def texts(drawn: list[dict[str, Any]], symbol: str) -> list[list[str]]:
    return [[cell["text"] for cell in row] for row in step(drawn, symbol)["matrices"][-1]["cells"]]


def test_the_first_visit_shows_an_example_and_how_far_it_is_from_numpy(app: AppTest, drawn: list) -> None:
    open_page(app)
    assert drawn[-1]["symbols"] == ["X", "Q", "K", "V", "QKᵀ", "÷√d", "softmax", "·V", "W_O"]
    assert texts(drawn, "softmax")[2] == ["0.74", "0.13", "0.13"]
    assert any("NumPy computes the same numbers, to" in caption.value for caption in app.caption)


def test_what_the_notices_say_of_their_numbers_is_so(app: AppTest, drawn: list) -> None:
    labels = [example.label for example in worked_examples()]
    assert labels == ["What is “it”?", "Why divide by √d", "Reading from left to right", "Two heads"]
    assert "0.74" in worked_examples()[0].notice
    assert "0.97 instead of 0.68" in worked_examples()[1].notice
    open_page(app, lesson=labels[1])
    assert texts(drawn, "softmax")[0][0] == "0.68"
    app.segmented_control(key="divide").set_value("off").run()
    assert texts(drawn, "softmax")[0][0] == "0.97"
    assert "÷√d" not in drawn[-1]["symbols"]
    assert app.query_params["divide"] == "off"
    told = f":material/lightbulb: {worked_examples()[1].notice}"
    assert told in [caption.value for caption in app.caption]
    # Of other numbers it says nothing that is so.
    app.text_input(key="tokens").set_value("one two three").run()
    assert told not in [caption.value for caption in app.caption]


def test_a_chip_opens_its_example_with_its_mask_and_its_heads(app: AppTest, drawn: list) -> None:
    open_page(app)
    app.pills(key="chip").set_value("Reading from left to right").run()
    assert not app.exception
    assert texts(drawn, "softmax")[0] == ["1.00", "0.00", "0.00", "0.00"]
    assert texts(drawn, "mask")[0][1:] == ["−∞"] * 3
    app.pills(key="chip").set_value("Two heads").run()
    assert not app.exception
    assert "concat" in drawn[-1]["symbols"]
    assert step(drawn, "QKᵀ")["matrices"][0]["shape"] == "3 × 2"
    first = texts(drawn, "softmax")
    app.number_input(key="head").set_value(1).run()
    assert texts(drawn, "softmax") != first


def test_typed_numbers_and_words_are_in_the_address(app: AppTest, drawn: list) -> None:
    numbers = random_numbers(2, 4, 77)
    open_page(app, tokens="<b> 😀", numbers=numbers_text(numbers), heads="2", mask="padding", padded="1")
    shown = step(drawn, "X")["matrices"][0]
    assert shown["rows"] == ["<b>", "😀"]
    assert [[cell["exact"] for cell in row] for row in shown["cells"]] == [
        [f"{value:.8g}".replace("-", "−") for value in row] for row in numbers["x"]
    ]
    assert [row[1] for row in texts(drawn, "softmax")] == ["0.00", "0.00"]
    app.text_input(key="tokens").set_value("<b> 😀 مرحبا").run()
    assert not app.exception
    again = step(drawn, "X")["matrices"][0]
    assert len(again["rows"]) == 3
    assert again["cells"][:2] == shown["cells"]


def test_a_mask_of_ones_own_is_in_the_address(app: AppTest, drawn: list) -> None:
    open_page(app, mask="own", own="101;1")
    weights, masked = texts(drawn, "softmax"), step(drawn, "mask")["matrices"][-1]["cells"]
    assert [[cell["text"] == "−∞" for cell in row] for row in masked] == [[False, True, False], [False] * 3, [False] * 3]
    assert weights[0][1] == "0.00"
    assert app.query_params["own"] == "101;111;111"
    # Another word: what was ticked stays as it was, and the new one may be looked at.
    app.text_input(key="tokens").set_value("cat mat it sat").run()
    assert app.query_params["own"] == "1011;1111;1111;1111"
    app.selectbox(key="mask").set_value("none").run()
    assert not app.exception
    assert "own" not in app.query_params


def everything(app: AppTest, drawn: list[dict[str, Any]]) -> str:
    """All that the page shows or hands to the browser, and what the browser makes of it."""
    return json.dumps([drawn[-1], described(drawn[-1])]) + " ".join(map(str, app.main))


@pytest.mark.parametrize("predict", ["most", "weight"])
def test_what_is_to_be_guessed_is_nowhere_on_the_page_until_it_is_revealed(app: AppTest, drawn: list, predict: str) -> None:
    open_page(app, predict=predict, at="7,2,0")
    assert "0.74" not in everything(app, drawn)
    assert "0.7386" not in everything(app, drawn)
    app.session_state.revealed = drawn[-1]["key"]
    app.run()
    assert "0.7386" in everything(app, drawn)
    assert texts(drawn, "softmax")[2] == ["0.74", "0.13", "0.13"]
    assert any("0.74" in caption.value for caption in app.caption)


@pytest.mark.parametrize("predict", first_now(["weight", "most"]))
def test_the_weight_of_a_model_is_hidden_in_all_its_places(app: AppTest, drawn: list, predict: str) -> None:
    cell = {"layer": "3", "head": "1", "query": "4", "key": "2"}
    open_page(app, source="model", text="The animal was tired.", words="true", predict=predict, **cell)
    exact = float(attnviz.load("minilm").trace("The animal was tired.").encoder.weights(3, 1)[4, 2])
    weight, digits = f"{exact:.4f}", f"{exact:.9f}"[:7]
    assert weight not in everything(app, drawn)
    assert digits not in everything(app, drawn)
    app.session_state.revealed = drawn[-1]["key"]
    app.run()
    assert weight in everything(app, drawn)
    assert digits in everything(app, drawn)
    assert any(f"has {weight} in the heatmap" in caption.value for caption in app.caption)


def test_random_numbers_are_new_numbers(app: AppTest, drawn: list) -> None:
    open_page(app)
    before = texts(drawn, "X")
    next(button for button in app.button if button.label == "Random numbers").click().run()
    assert not app.exception
    assert texts(drawn, "X") != before
    app.selectbox(key="dim").set_value(5).run()
    assert not app.exception
    assert len(texts(drawn, "X")[0]) == 5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tokens": " "}, "There is nothing to compute yet"),
        ({"source": "model", "text": " "}, "There is nothing to read yet"),
        ({"source": "model", "model": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_what_cannot_be_computed_is_one_sentence(app: AppTest, parameters: dict, message: str) -> None:
    open_page(app, **parameters)
    assert [message in each.value for each in (*app.error, *app.info)] == [True]


@pytest.mark.parametrize("numbers", ["nonsense", "1|2", "9e9|1|1|1|1", "nan|1|1|1|1"])
def test_an_address_that_makes_no_sense_still_opens(app: AppTest, drawn: list, numbers: str) -> None:
    open_page(app, numbers=numbers, heads="x", mask="?", seed="z", at="9,9", predict="!", source="?")
    assert texts(drawn, "softmax")[2] == ["0.74", "0.13", "0.13"]
    assert drawn[-1]["at"] == [0, 0, 0]


def test_a_sentence_of_ten_words_is_cut_to_eight_with_a_word_about_it(app: AppTest, drawn: list) -> None:
    words = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "*dog*", "today"]
    open_page(app, tokens=" ".join(words))
    assert not app.error
    assert step(drawn, "X")["matrices"][0]["rows"] == words[:8]
    captions = [each.value for each in app.caption if "8 tokens at most" in each.value]
    assert len(captions) == 1
    assert captions[0].endswith("“\\*dog\\*”, “today” are left out.")
    assert app.text_input(key="tokens").value == " ".join(words)


@pytest.mark.parametrize("example", worked_examples(), ids=lambda example: example.label)
def test_a_lesson_opens_at_the_step_and_the_cell_that_it_speaks_of(app: AppTest, drawn: list, example: WorkedExample) -> None:
    open_page(app, at="1,0,0")
    app.pills(key="chip").set_value(example.label).run()
    assert not app.exception
    # The first example stands there already: its chip, pressed again, changes nothing.
    expected = ("Q", [0, 0]) if example is worked_examples()[0] else (example.step, list(example.cell))
    at, *cell = drawn[-1]["at"]
    assert (drawn[-1]["symbols"][at], cell) == expected
    again = script(PAGE)
    open_page(again, lesson=example.label)
    at, *cell = drawn[-1]["at"]
    assert (drawn[-1]["symbols"][at], cell) == (example.step, list(example.cell))
    assert "at" not in again.query_params


def test_any_cell_of_a_translation_is_explained_by_its_address(app: AppTest, drawn: list, tmp_path: Path) -> None:
    folder = str(tiny_translator(tmp_path))
    open_page(app, source="model", model=folder, text=TEXT, query="1", key="2", layer="0", head="0", at="4,0,0")
    weight = float(attnviz.load(folder).trace(TEXT).cross.weights(0, 0)[1, 2])
    assert any(f"{weight:.4f} in the heatmap" in caption.value for caption in app.caption)
    assert drawn[-1]["at"] == [4, 0, 0]
    assert f"{weight:.2f}" in texts(drawn, "softmax")[0]
    app.selectbox(key="key").set_value(0).run()
    assert not app.exception
    assert app.query_params["key"] == "0"


def test_a_cell_of_an_answer_shows_its_question_and_asks_for_no_target(app: AppTest, drawn: list) -> None:
    question = "Which *car*?"
    place = {"attention": "cross", "layer": "0", "head": "0", "query": "1", "key": "2"}
    open_page(app, source="model", model="answer-en", text=TEXT, question=question, **place)
    assert [text.value for text in app.text] == [f"Question: {question}"]
    assert "Target text" not in [box.label for box in app.sidebar.text_input]
    weight = float(attnviz.load("answer-en").trace(Prompt(TEXT, question=question)).cross.weights(0, 0)[1, 2])
    cells = step(drawn, "softmax")["matrices"][-1]["cells"][0]
    assert any(float(cell["exact"]) == pytest.approx(weight, abs=1e-6) for cell in cells)
    assert drawn[-1]["symbols"][:2] == ["q", "k"]


def test_a_model_that_keeps_its_scores_to_itself_says_so(app: AppTest, tmp_path: Path) -> None:
    next(family for family in FAMILIES if not family.recorded).save(tmp_path)
    open_page(app, source="model", model=str(tmp_path), text="the cat sat", query="1", key="2", layer="0", head="0")
    assert ["shows its weights, but not what they were computed from" in each.value for each in app.info] == [True]


def test_every_lesson_is_small_enough_for_the_tables() -> None:
    for example in worked_examples():
        numbers = example.numbers()
        assert list(numbers) == list(TABLES)
        assert len(numbers["x"]) == len(example.tokens.split())
        assert np.abs(numbers["x"]).max() < 10


def test_dimensions_that_no_option_has_are_cut_to_those_there_are() -> None:
    with pytest.raises(TraceError, match="1 to 8 dimensions"):
        random_numbers(3, 6_000, seed=1)


def test_the_step_that_is_looked_at_is_in_the_address_and_keeps_its_name_among_other_steps(app: AppTest, drawn: list) -> None:
    open_page(app, at="6,2,1")
    assert drawn[-1]["symbols"][drawn[-1]["at"][0]] == "softmax"
    app.segmented_control(key="divide").set_value("off").run()
    step, *cell = drawn[-1]["at"]
    assert (drawn[-1]["symbols"][step], cell) == ("softmax", [2, 1])
    assert app.query_params["at"] == f"{step},2,1"


def test_what_was_revealed_is_in_the_address(app: AppTest, drawn: list) -> None:
    open_page(app, predict="most", at="7,2,0")
    assert drawn[-1]["at"] == [drawn[-1]["hidden"], 2, 0]
    key = drawn[-1]["key"]
    app.session_state.revealed = key
    app.run()
    assert app.query_params["revealed"] == key
    other = open_page(script(PAGE), **{name: app.query_params[name] for name in app.query_params})
    assert drawn[-1]["hidden"] is None
    assert other.query_params == app.query_params


def test_what_a_model_cannot_read_of_a_text_is_said(app: AppTest) -> None:
    open_page(app, source="model", text="قطة 🙂 " * 200)
    (notice,) = app.warning
    assert "This does not look like English" in notice.value
    assert "the text was cut after character" in notice.value
    assert "minilm does not know “🙂”" in notice.value


def test_a_score_is_taken_apart_where_somebody_asks_and_the_address_says_so(app: AppTest) -> None:
    open_page(app, source="model", model="minilm", text=TEXT, layer="1", head="3", query="2", key="1", why="open")
    (sentence,) = [each.proto.body for each in app.get("html") if "Of all tokens" in each.proto.body]
    assert "L1·H3" in sentence
    assert any("All pairs add up to the score" in each.value for each in app.caption)
    assert app.query_params["why"] in ("open", ["open"])


def test_a_score_that_is_no_product_is_not_taken_apart(app: AppTest) -> None:
    open_page(app, source="model", model="bahdanau-en-fr", text="I am tired.", why="open")
    assert not any("add up to the score" in each.value for each in app.caption)
    assert not app.error
    # Of one head there is nothing to choose.
    assert not {"Layer", "Head"} & {each.label for each in app.sidebar.number_input}
