"""Encoder-decoders that write nothing: a bare one, and one with labels. Both halves read a text, as the model itself does."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import Prompt
from attnviz.attribution.methods import METHODS, attribute
from attnviz.core.errors import AttnvizError, ModelError, PromptError
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.hub import download as hub
from tests import tiny

BART = next(family for family in tiny.FAMILIES if family.name == "bart").config
T5 = next(family for family in tiny.FAMILIES if family.name == "t5").config
PAIR = Prompt("the cat sat on the mat", pair="the dog ran")


def made(kind: Any, config: Any) -> Any:
    torch.manual_seed(7)
    model = kind(config).eval()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
    return model


def eager(model: Any, traced: Any, texts: list[str], read: list[int]) -> dict[str, Any]:
    """What the model itself gives over those texts, when its decoder reads those pieces."""
    inputs = traced.tensors(traced.encode(texts))
    with torch.no_grad():
        outputs = model(**inputs, decoder_input_ids=torch.tensor([read]), output_attentions=True)
    return {kind: outputs[f"{name}_attentions"] for kind, name in (("encoder",) * 2, ("decoder",) * 2, ("cross",) * 2)}


@pytest.mark.parametrize(("kind", "config", "start"), [(hf.BartModel, BART, 2), (hf.T5Model, T5, 0)])
def test_a_bare_model_shows_what_its_halves_read(kind: Any, config: Any, start: int) -> None:
    model = made(kind, config())
    traced = attnviz.wrap(model, tiny.tokenizer(tiny.SEQ2SEQ))
    for target in ("the dog", None):
        trace = traced.trace(Prompt(PAIR.text, target=target))
        read = capabilities(traced).encode([target or PAIR.text]).inputs["input_ids"]
        want = eager(model, traced, [PAIR.text], [start, *read[:-1]])
        for attention in trace.maps:
            for layer, weights in enumerate(want[attention.kind]):
                np.testing.assert_allclose(attention.layer_weights(layer), weights[0], atol=1e-5)
        assert len(trace.cross.queries) == len(read)
        assert trace.decoder.causal


def test_a_bare_model_says_what_it_does_not_do() -> None:
    traced = capabilities(attnviz.wrap(made(hf.BartModel, BART()), tiny.tokenizer(tiny.SEQ2SEQ)))
    with pytest.raises(PromptError, match="no layer that names what it writes"):
        traced.translator()
    with pytest.raises(ModelError, match="no label"):
        bind_target(traced, PAIR)
    with pytest.raises(ModelError, match="look at its weights"):
        attnviz.run(traced, "encode", PAIR, quantity="norms")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A folder of a BART that labels pairs, as bart-large-mnli does, and the model itself."""
    folder = tmp_path_factory.mktemp("labels")
    model = made(hf.BartForSequenceClassification, hf.BartConfig(**BART().to_dict() | {"num_labels": 3}))
    model.save_pretrained(folder)
    words = tiny.tokenizer(tiny.ENCODER)
    words.eos_token = "[SEP]"
    words.save_pretrained(folder)
    return model, hub.load(str(folder))


def test_a_classifier_reads_a_pair_with_both_halves(classifier: tuple[Any, Any]) -> None:
    model, traced = classifier
    assert type(traced.model) is hf.BartForSequenceClassification
    assert traced.card.reads == ("pair",)
    ids = traced.encode([PAIR.text, PAIR.pair]).inputs["input_ids"]
    want = eager(model, traced, [PAIR.text, PAIR.pair], [2, *ids[:-1]])
    for attention in traced.trace(PAIR).maps:
        for layer, weights in enumerate(want[attention.kind]):
            np.testing.assert_allclose(attention.layer_weights(layer), weights[0], atol=1e-5)
    # They are computed of the very pass of the trace, or refused.
    assert attnviz.run(traced, "encode", PAIR, quantity="norms").quantity == "norms"
    off = traced.trace(PAIR, "c1.2z")
    assert not off.cross.weights(1, 2).any()


@pytest.mark.gate
def test_a_classifier_explains_its_label(classifier: tuple[Any, Any]) -> None:
    _, traced = classifier
    assert list(capabilities(traced).targets(PAIR)) == ["label", "label:0", "label:1", "label:2"]
    bound, refused = bind_target(traced, PAIR), {}
    for method in METHODS.values():
        try:
            assert np.isfinite(method.compute(bound).values).all()
        except AttnvizError as error:
            refused[method.name] = error.__cause__
    assert not any(refused.values())
    assert len(refused) < 3


def test_vectors_take_the_place_of_tokens_in_both_halves(classifier: tuple[Any, Any]) -> None:
    _, traced = classifier
    bound = bind_target(traced, PAIR)
    other = bound.ids.clone()
    other[2] = 11
    vectors = bound.embedding[other].detach()[None]
    torch.testing.assert_close(bound.outcome_of(vectors).score, bound.outcome(other[None]).score, atol=1e-5, rtol=1e-5)


def test_a_decoder_that_was_cut_from_an_encoder_decoder_reads_text() -> None:
    model: Any = attnviz.wrap(made(hf.BartForCausalLM, BART()), tiny.tokenizer(tiny.DECODER))
    trace = model.trace("the cat sat")
    assert (trace.kinds, trace.decoder.n_layers) == (("decoder",), 3)
    # transformers gives it a cache that is as deep as the encoder, which has fewer layers.
    ((_, together),) = model.trace_all(["the cat sat"])
    np.testing.assert_allclose(together.decoder.weights(2, 1), trace.decoder.weights(2, 1), atol=1e-6)
    assert len(attribute(model, Prompt("the cat sat"), "leave-one-out").values) == 3
