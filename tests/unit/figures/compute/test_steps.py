"""What the browser draws of a computation, held to the steps it is made from."""

import json

import numpy as np
import pytest

from attnviz.analysis.compute import Computation, QueryKey, unfold_additive, worked_steps
from attnviz.core.head_inputs import Additive, Tables
from attnviz.figures.compute.steps import Predict, computation
from attnviz.figures.theme import DARK, LIGHT
from attnviz.models.worked_examples import compute
from tests.tiny import first_now
from tests.worded import MINUS, described, worded

HOSTILE = '<img src=x onerror="alert(1)">'


def steps(head: int = 1) -> Computation:
    generator = np.random.default_rng(23)
    matrices = [generator.normal(size=(6, 6)) for _ in range(4)]
    tables = Tables((HOSTILE, "مرحبا", " "), generator.normal(size=(3, 6)), *matrices, visible=np.tri(3, dtype=bool), n_heads=2)
    return worked_steps(tables, compute(tables), head)


def test_every_matrix_is_drawn_with_its_words_as_typed_and_its_exact_values():
    made = steps()
    drawn = computation(made, theme=DARK)
    assert json.loads(json.dumps(drawn)) == drawn
    page = described(drawn)
    for step, shown in zip(worded(made), page["steps"], strict=True):
        for matrix, table in zip(step.matrices, shown["matrices"], strict=True):
            assert [[each["text"] for each in row] for row in table["cells"]] == matrix.shown
            numbers = [[each.get("exact", each["text"]) for each in row] for row in table["cells"]]
            exact = [[float(each.replace(MINUS, "-").replace("∞", "inf")) for each in row] for row in numbers]
            values = np.where(np.array(matrix.shown) == f"{MINUS}∞", -np.inf, matrix.values)
            np.testing.assert_allclose(exact, values, rtol=1e-7, atol=1e-12)
    assert page["steps"][0]["matrices"][0]["rows"] == [HOSTILE, "مرحبا", "␣"]


def test_a_cell_is_traced_to_the_row_and_the_column_it_came_from():
    drawn = described(computation(steps(head=1)))
    names = [step["symbol"] for step in drawn["steps"]]
    # The second of two heads has columns 3 to 5 of Q and of K, and K stands flipped.
    origin = drawn["origins"]["S_1:2:0"]
    assert origin["step"] == names.index("QKᵀ")
    assert origin["from"] == ["Q:2:3", "Q:2:4", "Q:2:5", "K:0:3", "K:0:4", "K:0:5"]
    assert drawn["origins"]["Q:2:4"]["from"] == [*(f"X:2:{at}" for at in range(6)), *(f"W_Q:{at}:4" for at in range(6))]
    flipped = drawn["steps"][names.index("QKᵀ")]["matrices"][1]
    assert [[each["id"] for each in row] for row in flipped["cells"]][1] == ["K:0:4", "K:1:4", "K:2:4"]
    assert drawn["origins"]["C:1:4"]["from"] == ["C_1:1:1"]


def test_only_weights_that_can_be_seen_have_a_colour_and_masked_ones_are_marked():
    drawn = described(computation(steps()))
    weights = next(step for step in drawn["steps"] if step["symbol"] == "softmax")["matrices"][-1]
    for row, cells in enumerate(weights["cells"]):
        for column, each in enumerate(cells):
            assert ("masked" in each) is (column > row)
            assert ("value" in each) is (column <= row)
    assert weights["totals"] == ["1.00"] * 3


def test_what_was_revealed_is_so_in_any_theme():
    made = steps()
    light, dark = (computation(made, predict="most", theme=theme) for theme in (LIGHT, DARK))
    assert (light["key"], light["theme"], dark["theme"]) == (dark["key"], "light", "dark")


def test_what_is_drawn_has_a_name_of_its_own_that_the_place_does_not_change():
    made = steps()
    first = computation(made, at=(2, 1, 1))
    assert first["key"] == computation(made)["key"]
    assert first["at"] == [2, 1, 1]
    assert first["key"] != computation(made, predict="most")["key"]
    assert first["key"] != computation(steps(head=0))["key"]


@pytest.mark.parametrize(
    ("predict", "worked"), first_now([("most", True), ("weight", False), ("weight", True), ("most", False)], 2)
)
def test_what_a_class_is_to_guess_is_not_there_before_it_is_revealed(predict: Predict, worked: bool):
    made = steps() if worked else additive()
    every = worded(made)
    asked = made.weights_step
    weights, context = every[asked].result, every[-1].result
    seen = weights.values[weights.values > 0]
    before = computation(made, predict=predict)
    known, page = json.dumps(before), described(before)
    numbers = np.concatenate([seen.ravel(), context.values[np.isfinite(context.values)]]).tolist()
    assert [value for value in numbers if repr(value) in known and value != 1] == []
    assert before["hidden"] == asked
    hidden = [[each["text"] for each in row] for row in page["steps"][asked]["matrices"][-1]["cells"]]
    assert {text for row in hidden for text in row} == {"?"}
    assert page["steps"][asked]["sentence"] == ""
    assert [step["matrices"] for step in page["steps"][asked + 1 :]] == [[]] * (len(every) - asked - 1)
    assert [step["symbol"] for step in page["steps"]] == [step.symbol for step in every]
    assert all(origin["step"] < asked for origin in page["origins"].values())
    after = computation(made, predict=predict, revealed=before["key"])
    assert (after["hidden"], after["key"]) == (None, before["key"])
    assert described(after) == described(computation(made))
    assert all(repr(value) in json.dumps(after) for value in numbers)
    # What another question revealed reveals nothing here.
    assert computation(steps(head=0), predict=predict, revealed=before["key"])["hidden"] is not None


def additive() -> Computation:
    generator = np.random.default_rng(23)
    states, memory, w, b, u, v = (generator.normal(size=size) for size in ((3, 7), (5, 11), (13, 7), (13,), (13, 11), (13,)))
    names = tuple("abc"), tuple("vwxyz")
    return unfold_additive(Additive(states, memory, w, b, u, v), QueryKey(*names, 1, 2))


def test_a_long_sum_shows_its_largest_terms_and_what_the_others_add_up_to():
    values, ones = np.array([[1.0, 0.01, -2.0, 0.02, 3.0, 0.01, 4.0, 5.0]]), np.ones((8, 8))
    tables = Tables(("r",), values, ones, ones, ones, ones, np.ones((1, 1), bool))
    origin = worded(worked_steps(tables, compute(tables), 0))[1].origins[0, 0]
    assert origin.text == (
        "1.00·1.00 + (−2.00)·1.00 + 3.00·1.00 + 4.00·1.00 + 5.00·1.00 + (3 more) = "
        "1.00 − 2.00 + 3.00 + 4.00 + 5.00 + 0.04 = 11.04"
    )
    assert len(origin.cells) == 16


def test_a_product_is_written_row_by_column():
    values, weight, one = np.array([[0.5, -1.0]]), np.array([[2.0, 0.0], [3.0, 0.0]]), np.eye(2)
    tables = Tables(("r",), values, weight, one, one, one, np.ones((1, 1), bool))
    origins = worded(worked_steps(tables, compute(tables), 0))[1].origins
    assert origins[0, 0].text == "0.50·2.00 + (−1.00)·3.00 = 1.00 − 3.00 = −2.00"
    assert origins[0, 0].cells == (("X", 0, 0), ("X", 0, 1), ("W_Q", 0, 0), ("W_Q", 1, 0))
    assert list(origins) == [(0, 0), (0, 1)]
