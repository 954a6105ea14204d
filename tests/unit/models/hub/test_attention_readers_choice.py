"""The attention function is trusted only where what it records is what the model computes."""

from typing import Any

import pytest
import torch
import transformers as hf

import attnviz
from attnviz.core.errors import UnsupportedModelError
from attnviz.models.hub import attention_readers, wrap_model
from attnviz.models.hub.attention_readers import AttentionFunctionReader, EagerReader
from tests import tiny


def test_what_is_recorded_is_held_against_the_softmaxes_of_a_model_that_gives_no_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = attention_readers.near
    monkeypatch.setattr(attention_readers, "near", lambda got, *given: layers(got * 0.5, *given))
    with pytest.raises(UnsupportedModelError):
        attnviz.wrap(tiny.hybrid(), tiny.tokenizer(tiny.DECODER))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_what_is_recorded_wrongly_is_not_taken_for_rounding(
    name: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = tiny.FAMILY[name]
    model, tokenizer = family.model().to(dtype), tiny.tokenizer(family.architecture)
    traced: Any = attnviz.wrap(model, tokenizer)
    assert isinstance(traced.reader, AttentionFunctionReader)
    change = {"llama": {"scaling": 0.25}, "gemma2": {"softcap": None}}[name]
    facts = attention_readers._facts
    monkeypatch.setattr(attention_readers, "_facts", lambda *given: facts(*given) | change)
    wrong: Any = attnviz.wrap(model, tokenizer)
    assert isinstance(wrong.reader, EagerReader)


def test_a_model_that_cannot_be_switched_is_held_against_itself_as_it_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.FAMILY["falcon"].model()
    model.config._attn_implementation = "sdpa"
    with monkeypatch.context() as patched:
        # Under sdpa it has no mask, and without a mask it looks ahead as soon as it is asked for its weights.
        patched.setattr(wrap_model, "use_eager", lambda model: None)
        with pytest.raises(UnsupportedModelError, match=r'Falcon.* attends otherwise under "sdpa", as it was loaded, than'):
            attnviz.wrap(model, tiny.tokenizer(tiny.DECODER))
    assert attnviz.wrap(model, tiny.tokenizer(tiny.DECODER)).trace("the cat sat").decoder.causal
    assert model.config._attn_implementation == "sdpa"


def test_a_model_that_fails_as_it_was_loaded_says_why_unless_eager_attention_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.FAMILY["bert"].model()
    model.set_attn_implementation("sdpa")

    def fails(*given: Any, **named: Any) -> Any:
        raise ValueError("Input language unknown.")

    monkeypatch.setattr(type(model.encoder), "forward", fails)
    with pytest.raises(UnsupportedModelError, match=r"^This bert model cannot read .* \(Input language unknown\); choose"):
        attnviz.wrap(model, tiny.tokenizer())
    monkeypatch.undo()
    monkeypatch.setattr("transformers.integrations.sdpa_attention.sdpa_attention_forward", fails)
    monkeypatch.setitem(hf.AttentionInterface._global_mapping, "sdpa", fails)
    with pytest.raises(UnsupportedModelError, match=r'attends otherwise under "sdpa", as it was loaded, than under "eager"'):
        attnviz.wrap(model, tiny.tokenizer())


def test_a_model_is_held_against_one_that_is_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.FAMILY["bert"].model()
    anew = wrap_model.built_anew(model)
    assert {each.data_ptr() for each in anew.parameters()} == {each.data_ptr() for each in model.parameters()}
    model.set_attn_implementation("sdpa")
    own = wrap_model.built_anew

    def other(model: Any) -> Any:
        """Another query matrix, which the states that were compared before cannot show."""
        anew = own(model)
        query = anew.encoder.layer[0].attention.self.query
        query.weight = torch.nn.Parameter(query.weight * 2)
        return anew

    monkeypatch.setattr(wrap_model, "built_anew", other)
    with pytest.raises(UnsupportedModelError, match="attends otherwise"):
        attnviz.wrap(model, tiny.tokenizer())
    cut = tiny.FAMILY["bert"].model()
    cut.encoder.layer = cut.encoder.layer[:1]
    assert own(cut) is None
