"""Heads off one by one and many at once, on a scorer whose every number is known."""

import numpy as np
import pytest
import transformers as hf

import attnviz
from attnviz.core.edits import Edits, HeadSet
from attnviz.core.trace import HeadCosts
from attnviz.core.weights import Kind
from attnviz.models import whatif
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.whatif import DRAWS, head_costs, removal_curve, without
from tests import tiny

# What each head costs; the costs of several add up.
COSTS = {
    ("encoder", 0, 0): 4.0, ("encoder", 0, 1): -1.0, ("encoder", 1, 0): 16.0, ("encoder", 1, 1): 0.0, ("cross", 0, 0): 2.0,
    ("cross", 0, 1): 8.0,
}  # fmt: skip
BEFORE = -3.0


def scores(_scorer: object, rows: list[Edits], _progress: object) -> np.ndarray:
    heads = ([(each.kind, each.layer, each.head) for each in edits.each if isinstance(each, HeadSet)] for edits in rows)
    return np.array([BEFORE - sum(COSTS[head] for head in some) for some in heads])


@pytest.fixture
def curve(monkeypatch):
    monkeypatch.setattr(StackModel, "scorer", lambda model, prompt: None)
    monkeypatch.setattr(whatif, "_scored", scores)
    tables: dict[Kind, np.ndarray] = {"encoder": np.array([[4.0, -1.0], [16.0, 0.0]]), "cross": np.array([[2.0, 8.0]])}
    return removal_curve(attnviz.load("minilm"), "a text", HeadCosts("nats", BEFORE, tables))


def test_the_least_costly_heads_go_first_or_the_most_costly(curve):
    ranked = np.sort([*COSTS.values()])
    assert curve.counts == (1, 2, 3, 4, 6)
    assert curve.least.tolist() == [ranked[:count].sum() for count in curve.counts]
    assert curve.most.tolist() == [ranked[::-1][:count].sum() for count in curve.counts]


def test_each_draw_takes_more_and_more_of_the_heads_by_chance(curve):
    assert curve.random.shape == (DRAWS, len(curve.counts))
    assert (curve.random[:, -1] == sum(COSTS.values())).all()
    assert set(curve.random[:, 0]) <= set(COSTS.values())
    assert len(set(curve.random[:, 0])) > 2
    assert ((curve.least <= curve.random) & (curve.random <= curve.most)).all()


def test_heads_are_set_to_what_is_said():
    assert without([("encoder", 0, 2), ("cross", 1, 0)], "mean").text == "c1.0m,e0.2m"


def test_heads_of_a_decoder_that_are_off_first_cost_what_they_cost_after_others():
    config = tiny.FAMILY["llama"].config()
    config.initializer_range = 0.5
    model = attnviz.wrap(hf.AutoModelForCausalLM.from_config(config).eval(), tiny.tokenizer(tiny.DECODER))
    costs = np.array([[-1.0, 0.1, 0.2, 0.3, 0.4, 0.5], [-2.0, 1.0, 2.0, 3.0, 4.0, 5.0]])
    made = removal_curve(model, "the cat sat on the mat", HeadCosts("nats", 0.0, {"decoder": costs}))
    alone = head_costs(model, "the cat sat on the mat")
    got = made.least[0], made.most[0]
    want = (alone.of(("decoder", 1, head)) - alone.before for head in (0, 5))
    np.testing.assert_allclose(got, list(want), atol=1e-5)
