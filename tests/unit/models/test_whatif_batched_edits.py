"""Edits of one text that share what stands below them: exactly what each gets alone, in every family that is recorded."""

import threading
from decimal import Decimal

import numpy as np
import pytest
import torch

import attnviz
from attnviz.core.edits import Edits, WordHidden
from attnviz.core.trace import Prompt
from attnviz.models import edit
from attnviz.models.base import EncoderReading, shifts
from attnviz.models.capabilities import capabilities
from attnviz.models.whatif import every_head, without
from tests import tiny
from tests.float64 import exact, in_float64

FAMILIES = [each for each in tiny.FAMILIES if each.recorded and each.architecture != tiny.SEQ2SEQ]
TEXT = "the cat sat on the mat because it was tired"


@pytest.mark.parametrize("family", tiny.some_now(FAMILIES), ids=str)
def test_shared_layers_change_no_score(family, monkeypatch, unchecked):
    model = attnviz.wrap(family.model(), tiny.tokenizer(family.architecture))
    heads = every_head(model)
    hidden = Edits((WordHidden(heads[0][0], 1),))
    rows = [Edits(), *(without([head]) for head in heads[::-1]), without(heads[1:4]), hidden, without(heads, "mean")]
    scorer = capabilities(model).scorer(Prompt(TEXT))
    assert (scorer.outputs is not None) == (family.name != "albert")
    fractions: list[float] = []
    together = scorer.scores(rows, fractions.append)
    monkeypatch.setattr(edit, "_enterable", {})
    whole = capabilities(model).scorer(Prompt(TEXT))
    assert whole.outputs is None
    alone = [whole.scores([each])[0] for each in rows]
    np.testing.assert_allclose(together, alone, atol=2e-6)
    assert np.abs(together).max() > 1e-4
    assert fractions == sorted(fractions)
    assert all(0 <= share < 1 for share in fractions)


def test_a_layer_below_the_first_edit_is_computed_once(monkeypatch, unchecked):
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    rows: list[int] = []
    model.body.encoder.layer[0].attention.register_forward_hook(lambda _, given, output: rows.append(output[0].shape[0]))
    edits = [Edits.parse(f"e1.{head}z") for head in range(3)]
    capabilities(model).scorer(Prompt(TEXT))
    rows.clear()
    monkeypatch.setattr(edit, "TOKENS", 1)
    capabilities(model).scorer(Prompt(TEXT)).scores([Edits(), *edits])
    assert rows == [1]
    monkeypatch.setattr(edit, "_enterable", {})
    scores = capabilities(model).scorer(Prompt(TEXT)).scores([*edits, *edits])
    assert rows[1:] == [1] * 4, "the text as it is, and equal edits once"
    assert scores[:3].tolist() == scores[3:].tolist()


def test_a_stack_whose_layers_hand_on_more_than_states_is_not_entered(monkeypatch, unchecked):
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    layers, kept = model.body.encoder.layer, []
    layers[0].attention.register_forward_hook(lambda _, given, output: kept.append(output[0]))
    # The layer above adds what the one below has left for it, and it leaves nothing where it is not computed.
    layers[1].register_forward_pre_hook(lambda _, given: (given[0] + (kept.pop() if kept else 0), *given[1:]))
    scorer = capabilities(model).scorer(Prompt(TEXT))
    assert scorer.outputs is None
    together = scorer.scores([Edits.parse(f"e1.{head}z") for head in range(3)])
    alone = [scorer.scores([Edits.parse(f"e1.{head}z")])[0] for head in range(3)]
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_another_thread_widens_nothing(unchecked):
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    actual = []
    with edit.entering(0, 7, {}):
        thread = threading.Thread(target=lambda: actual.append(model.trace(TEXT).encoder.weights(1, 2)))
        thread.start()
        thread.join()
    np.testing.assert_array_equal(actual[0], model.trace(TEXT).encoder.weights(1, 2))


@pytest.mark.parametrize("step", [0.0, 1e-6, 1e-4, 0.3])
def test_nearly_equal_vectors_are_as_far_apart_as_in_decimal_numbers(step: float) -> None:
    dice = np.random.default_rng(5)
    one = dice.normal(size=(3, 7)).astype(np.float32)
    other = (one + step * dice.normal(size=one.shape)).astype(np.float32)

    def apart(first: list[Decimal], second: list[Decimal]) -> Decimal:
        dot, *squares = (
            sum(a * b for a, b in zip(x, y, strict=True)) for x, y in ((first, second), (first,) * 2, (second,) * 2)
        )
        return 1 - dot / (squares[0] * squares[1]).sqrt()

    want = [float(apart([*map(Decimal, a)], [*map(Decimal, b)])) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
    near = edit.cosine_distance(torch.tensor(one), torch.tensor(other)).tolist()
    # The unit vectors, of length 1, are rounded by 1e-16; what is between them is rounded by as much.
    assert near == pytest.approx(want, rel=1e-14 + 1e-15 / max(step, 1e-9), abs=1e-27)
    before, after = (EncoderReading((), states, (), None) for states in (one, other))
    assert shifts(before, after).tolist() == pytest.approx(near, rel=1e-9, abs=1e-27)


def test_ln_p_is_that_of_float64() -> None:
    scores = 20 * torch.randn(3, 11, 997, generator=torch.Generator().manual_seed(7))
    pieces = torch.randint(997, (1, 11), generator=torch.Generator().manual_seed(5))
    exact_scores = scores.numpy().astype(np.float64)
    highest = exact_scores.max(axis=-1)
    totals = highest + np.log(np.exp(exact_scores - highest[..., None]).sum(axis=-1))
    want = np.take_along_axis(exact_scores, pieces.numpy()[..., None].repeat(3, axis=0), axis=-1)[..., 0] - totals
    # Eleven numbers of some 100, each rounded a few times by 1e-16 of it.
    np.testing.assert_allclose(edit.log_probability(scores, pieces), want.sum(axis=1), rtol=1e-13)


def test_a_vector_of_no_length_is_at_a_right_angle_to_every_other() -> None:
    states = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]], np.float32)
    others = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 0.0]], np.float32)
    assert edit.cosine_distance(torch.tensor(states), torch.tensor(others)).tolist() == [1, 1, 0]
    assert shifts(EncoderReading((), states, (), None), EncoderReading((), others, (), None)).tolist() == [1, 1, 0]


@pytest.mark.gate
def test_heads_of_an_encoder_cost_what_they_cost_in_float64(unchecked: None) -> None:
    shipped = attnviz.load("minilm")
    heads = [without([head]) for head in every_head(shipped)]
    costs = -capabilities(shipped).scorer(Prompt("The cat sat.")).scores(heads)
    model = exact("minilm")
    with in_float64():
        want = -capabilities(model).scorer(Prompt("The cat sat.")).scores(heads)
    # A state is rounded by a millionth of its length, or less, which turns it by as much.
    assert (np.abs(costs - want) < 1e-6 * np.sqrt(2 * want) + 1e-12).all()
