"""What a model makes of a prompt before and after edits, of models small enough to be made in a moment."""

import numpy as np
import pytest

import attnviz
from attnviz import Edits, Prompt
from attnviz.core.errors import CancelledError, EditError, ModelError, TraceError, cancellable
from attnviz.models.base import shifts
from attnviz.models.capabilities import capabilities
from attnviz.models.shipped_models import load_trained
from attnviz.models.tasks import log_probability, read, run_task, with_readings
from attnviz.models.whatif import every_head, head_costs, removal_curve, without
from tests import tiny
from tests.answerers import tiny_answerer
from tests.float64 import doubled, in_float64
from tests.translators import tiny_translator

TEXT = "The dog, which isn't Tom's, didn't eat."


def cost_of(model, prompt, edits):
    """What edits cost the output that the model gives without them: nats of ln p, or 1 - cosine of the last states."""
    before, after = capabilities(model).scorer(prompt).scores([Edits(), edits])
    return float(before - after)


pytestmark = pytest.mark.usefixtures("brief")


@pytest.fixture(scope="module", params=["additive", "transformer"])
def translator(request, tmp_path_factory):
    return load_trained(tiny_translator(tmp_path_factory.mktemp(request.param), request.param))


def test_what_is_written_and_how_likely_the_old_output_is_now(translator):
    layers, heads = translator.edit_points().sizes["cross"]
    off = without([("cross", layer, head) for layer in range(layers) for head in range(heads)])
    actual = run_task(translator, "translate", TEXT, edits=off)
    assert actual.trace.edits == off
    assert actual.unedited.trace.output == translator.trace(TEXT).output
    plain = run_task(translator, "translate", TEXT)
    assert (plain.before, plain.draft.original) == (None, None)
    assert plain.draft.log_probability == actual.unedited.draft.log_probability
    given = run_task(translator, "translate", TEXT, edits=off, before=plain)
    assert given.before is plain
    assert given.draft.original == actual.draft.original
    cost = log_probability(translator, Prompt(TEXT), plain.draft, Edits()) - actual.draft.original
    assert cost_of(translator, Prompt(TEXT), off) == pytest.approx(cost, abs=1e-3)


@pytest.mark.parametrize("kind", ["additive", "transformer"])
def test_every_head_costs_what_it_costs_alone(kind, tmp_path):
    prompt = Prompt(TEXT, target="Le chien n'a pas mangé !")
    exact = doubled(load_trained(tiny_translator(tmp_path, kind)))
    with in_float64():
        in_batch = head_costs(exact, prompt)
        alone = sum(np.log(step.probability) for step in exact.steps(prompt)[1])
        assert in_batch.before == pytest.approx(alone, abs=1e-9)
        for head in every_head(exact):
            assert in_batch.costs[head[0]][head[1:]] == pytest.approx(cost_of(exact, prompt, without([head])), abs=1e-9)


def test_what_heads_cost_in_float32(translator):
    prompt = Prompt(TEXT, target="Le chien n'a pas mangé !")
    costs = head_costs(translator, prompt)
    # 175 nats, added up from numbers behind some 300 roundings of float32, of 6e-8 each.
    alone = sum(np.log(step.probability) for step in translator.steps(prompt)[1])
    assert costs.before == pytest.approx(alone, rel=2e-5)
    curve = removal_curve(translator, prompt, costs)
    assert curve.random.shape == (20, len(curve.counts))
    assert curve.counts[-1] == len(every_head(translator))
    np.testing.assert_allclose(curve.least[-1], curve.most[-1], atol=1e-6)
    np.testing.assert_allclose(curve.random[:, -1], curve.most[-1], atol=1e-6)


def test_it_can_be_stopped(translator):
    def stop() -> None:
        raise CancelledError("nobody waits")

    with pytest.raises(CancelledError), cancellable(stop):
        head_costs(translator, Prompt(TEXT, target="Le chien"))


@pytest.mark.parametrize("joint", tiny.first_now([True, False]))
def test_answers_and_their_heads(tmp_path, joint, unchecked):
    # Of the embedded encoder's six layers, which are alike, the first three.
    model = load_trained(tiny_answerer(tmp_path / "model", joint=joint, depth=3))
    prompt = Prompt("The cat sat on the mat in 1887.", question="When did the cat sit?")
    off = without([("cross", 0, head) for head in range(12)])
    actual = run_task(model, "answer", prompt, edits=off)
    before = actual.unedited.answers.result
    assert actual.unedited.trace.output == model.trace(prompt).output
    assert actual.trace.edits == off
    assert before.spans[0].probability != actual.answers.result.spans[0].probability
    costs = head_costs(model, prompt)
    assert np.exp(costs.before) == pytest.approx(before.spans[0].probability, abs=1e-4)


def test_an_encoder_says_how_far_each_token_has_turned_and_how_alike_two_texts_are():
    model = attnviz.wrap(tiny.FAMILIES[0].model(), tiny.tokenizer())
    prompt = Prompt("the cat sat", pair="a dog ran")
    plain = with_readings(model, run_task(model, "encode", prompt)).reading
    assert shifts(plain, plain).max() < 1e-6
    actual = with_readings(model, run_task(model, "encode", prompt, edits="e0.1z,e1.2z"))
    before, after = actual.unedited.reading, actual.reading
    moved = shifts(before, after)
    assert moved.shape == (len(before.tokens),)
    assert moved.max() > 1e-3
    assert before.similarity == plain.similarity != after.similarity
    assert cost_of(model, prompt, Edits.parse("e0.1z,e1.2z")) == pytest.approx(moved.mean(), abs=1e-5)


def test_what_has_no_such_output_says_so(tmp_path, translator):
    with pytest.raises(ModelError, match="no encoder"):
        read(translator, Prompt(TEXT))
    result = run_task(translator, "translate", TEXT)
    assert with_readings(translator, result) is result
    with pytest.raises(TraceError, match="no Answers"):
        _ = result.answers
    with pytest.raises(EditError, match="patched from another text"):
        cost_of(translator, Prompt(TEXT), Edits.parse("c0.0pTom"))


def test_edits_above_an_encoder_leave_its_reading_as_it_is(tmp_path):
    model, prompt = load_trained(tiny_answerer(tmp_path / "tiny")), Prompt("The cat sat.", question="Who sat?")
    plain, actual = (
        with_readings(model, run_task(model, "encode", prompt, edits=edits)).reading for edits in ("", "c0.0z,c0.0c1.1")
    )
    np.testing.assert_array_equal(plain.states, actual.states)
