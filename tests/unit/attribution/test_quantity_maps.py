"""A trace whose numbers are what heads move: held against a product by hand, and refused where it would be of another pass."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import attnviz
from attnviz.analysis.wording import describe_mixing
from attnviz.attribution.quantity_maps import MOST_TOKENS, in_quantity, run
from attnviz.core.errors import ArgumentError, ModelError
from attnviz.core.trace import Prompt
from attnviz.models.base import DecodingOptions
from attnviz.models.result import Result
from attnviz.models.tasks import run_task
from tests.norms import cross_norm_shares
from tests.tiny import first_now

CAT = Prompt("The cat sat on the mat.")
FRANCE = Prompt("He has been to France.")
LOVELACE = Prompt("Ada Lovelace wrote the first program in 1843.", question="Who wrote the first program?")
loaded = cache(attnviz.load)


def moving(model, prompt, quantity="norms") -> Result:
    """What the heads of a model move while it reads a prompt."""
    return in_quantity(model, run_task(model, "encode", prompt), quantity)


def test_a_row_is_each_weight_times_the_length_of_what_it_carries():
    model: Any = loaded("minilm")
    got, layer, head = moving(model, CAT).trace.encoder.weights(2, 5), 2, 5
    plain = model.trace(CAT).encoder
    block = model.model.encoder.layer[layer].attention
    width = block.self.query.out_features // 12
    own = slice(head * width, (head + 1) * width)
    value = plain.store.layers[layer].value[head].astype(float)
    carried = value @ block.output.dense.weight.detach().double().numpy()[:, own].T
    want = plain.weights(layer, head) * np.linalg.norm(carried, axis=1)
    np.testing.assert_allclose(got, want / want.sum(axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "prompt"),
    first_now([("minilm", CAT), ("transformer-en-fr", FRANCE), ("answer-en", LOVELACE), ("answer-en", CAT)], 2),
)
@pytest.mark.parametrize("by", first_now(["norms", "mixing"]))
def test_each_map_keeps_its_tokens_its_mask_and_its_layers(name, prompt, by):
    plain, actual = loaded(name).trace(prompt), moving(loaded(name), prompt, by)
    assert actual.trace.kinds == plain.kinds
    for before, after in zip(plain.maps, actual.trace.maps, strict=True):
        assert (after.queries, after.keys, after.n_layers, after.causal) == (
            before.queries, before.keys, before.n_layers, before.causal,
        )  # fmt: skip
        assert after.n_heads == (before.n_heads if by == "norms" else 1)
        for layer in range(after.n_layers):
            assert np.array_equal(after.visible(layer), before.visible(layer))
            np.testing.assert_allclose(after.layer_weights(layer).sum(axis=2), 1, atol=1e-5)
            assert 0 < actual.mixing[after.kind, layer] < 1
            assert "changes a token by" in describe_mixing(actual.mixing, after.kind, layer)


def test_the_two_texts_of_a_dual_answerer_stand_where_its_trace_has_them():
    plain = loaded("answer-en-dual").trace(LOVELACE).encoder
    got = moving(loaded("answer-en-dual"), LOVELACE).trace.encoder
    hidden = ~plain.visible(0)
    assert hidden.any()
    assert not got.layer_weights(0)[:, hidden].any()


@pytest.mark.parametrize(
    ("name", "prompt", "says"),
    [
        ("bahdanau-en-fr", FRANCE, "no output matrix"),
        ("minilm", Prompt("word " * MOST_TOKENS), "at most 256 tokens"),
    ],
)
def test_what_is_not_known_is_said_in_one_sentence(name, prompt, says):
    with pytest.raises(ModelError, match=says):
        moving(loaded(name), prompt)


def test_numbers_of_another_pass_than_the_trace_are_refused(monkeypatch):
    model: Any = loaded("minilm")
    other = model.trace(Prompt("The dog lay on the rug."))
    monkeypatch.setattr(type(model), "trace", lambda self, prompt: replace(other, prompt=prompt))
    with pytest.raises(ModelError, match="do not fit"):
        moving(model, CAT)


def test_edited_heads_have_no_quantity_but_their_weights():
    with pytest.raises(ModelError, match="remove the edits"):
        run(loaded("minilm"), "encode", CAT, edits="e0.1z", quantity="norms")


def test_going_back_to_weights_gives_those_of_the_model():
    model = loaded("transformer-en-fr")
    plain = run_task(model, "translate", FRANCE)
    there = in_quantity(model, plain, "norms")
    back = in_quantity(model, there, "weights")
    assert (there.quantity, back.quantity, back.mixing) == ("norms", "weights", {})
    assert back.trace.model == plain.trace.model
    np.testing.assert_array_equal(back.trace.cross.weights(1, 2), plain.trace.cross.weights(1, 2))


@pytest.mark.parametrize(
    ("prompt", "options"),
    first_now([
        (FRANCE, DecodingOptions(3, candidate=2)),
        (FRANCE, DecodingOptions()),
        (FRANCE, DecodingOptions(begins=("▁Elle",))),
        (replace(FRANCE, target="Il n'y est jamais alle."), DecodingOptions()),
    ]),
    ids=["candidate", "greedy", "steered", "given"],
)  # fmt: skip
def test_a_translation_is_weighed_as_it_was_written(prompt, options):
    model = loaded("transformer-en-fr")
    plain = run_task(model, "translate", prompt, options=options)
    written, result = plain.draft, in_quantity(model, plain, "norms")
    assert (result.quantity, result.trace.output) == ("norms", written.trace.output)
    assert result.trace.cross.queries == written.trace.cross.queries
    want = cross_norm_shares(model, written, 1, 2)
    assert np.abs(want - written.trace.cross.weights(1, 2)).max() > 0.01
    np.testing.assert_allclose(result.trace.cross.weights(1, 2), want, atol=1e-5)


def test_a_candidate_is_not_weighed_as_the_best_translation(monkeypatch):
    model: Any = loaded("transformer-en-fr")
    best, third = (run_task(model, "translate", FRANCE, options=DecodingOptions(3, candidate=at)) for at in (0, 2))
    with pytest.raises(ModelError, match="do not fit"):
        in_quantity(model, replace(third, output=replace(third.draft, pieces=best.draft.pieces)), "norms")


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_result_is_one_sentence() -> None:
    model = loaded("minilm")
    trace: Any = model.trace(CAT)
    with pytest.raises(ArgumentError, match="not an AttentionTrace"):
        in_quantity(model, trace, "norms")
