"""Models of the hub keep the layer that names pieces or labels, and their traces are those of the model without it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

import attnviz
from attnviz import Prompt
from attnviz.core.errors import ModelError
from attnviz.models import catalog
from attnviz.models.hub import checkpoint
from attnviz.models.tasks import read
from tests import tiny

TOPS = [
    ("gpt2", hf.GPT2LMHeadModel, "next token"),
    ("gpt-neox", hf.GPTNeoXForCausalLM, "next token"),
    ("llama", hf.LlamaForCausalLM, "next token"),
    ("bert", hf.BertForMaskedLM, "[MASK] 3"),
    ("roberta", hf.RobertaForMaskedLM, "[MASK] 3"),
    ("distilbert", hf.DistilBertForMaskedLM, "[MASK] 3"),
    ("distilbert", hf.DistilBertForSequenceClassification, "label"),
]


def saved(folder: Path, family: str, kind: Any) -> Any:
    torch.manual_seed(13)
    model = kind(tiny.FAMILY[family].config()).eval()
    model.save_pretrained(folder)
    tiny.tokenizer(tiny.FAMILY[family].architecture).save_pretrained(folder)
    return model


@pytest.mark.parametrize(("family", "kind", "place"), TOPS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_what_is_on_top_is_loaded_and_says_what_is_likeliest(family, kind, place, tmp_path, unchecked):
    model = saved(tmp_path, family, kind)
    loaded = catalog.load(str(tmp_path))
    assert type(loaded.model) is kind
    prompt = Prompt("the cat [MASK] ." if "MASK" in place else "the cat sat on the mat")
    actual = read(loaded, prompt)
    ((name, likeliest),) = actual.likeliest
    assert name == place
    inputs = loaded.tensors(loaded.encode([prompt.text]))
    with torch.no_grad():
        logits = model(**inputs).logits[0]
        states = model.base_model(**inputs).last_hidden_state[0].numpy()
    row = logits if place == "label" else logits[-1 if place == "next token" else 3]
    assert likeliest[0][1] == pytest.approx(float(row.softmax(-1).max()), abs=1e-5)
    np.testing.assert_allclose(actual.states, states, atol=1e-5)
    assert loaded.card.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert loaded.card.parameters <= checkpoint.count_parameters(checkpoint._kind(model.config), model.config)


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_the_trace_is_that_of_the_model_without_its_top_and_does_not_run_it(family, tmp_path, monkeypatch, unchecked):
    kind = hf.GPT2LMHeadModel if family == "gpt2" else hf.BertForMaskedLM
    model = saved(tmp_path / "top", family, kind)
    model.base_model.save_pretrained(tmp_path / "body")
    tiny.tokenizer(tiny.FAMILY[family].architecture).save_pretrained(tmp_path / "body")
    top, body = (catalog.load(str(tmp_path / name)) for name in ("top", "body"))
    assert (type(top.model), type(body.model)) == (kind, type(model.base_model))
    monkeypatch.setattr(kind, "forward", None)
    one, other = (each.trace("the cat sat on the mat").maps[0] for each in (top, body))
    for layer in range(2):
        for head in range(3):
            np.testing.assert_array_equal(one.weights(layer, head), other.weights(layer, head))


def test_a_top_that_was_not_saved_is_not_made_up(tmp_path, unchecked):
    saved(tmp_path, "bert", hf.BertForMaskedLM)
    drop(tmp_path, "cls.")
    loaded = catalog.load(str(tmp_path))
    assert type(loaded.model) is hf.BertModel
    assert read(loaded, Prompt("the cat [MASK] .")).likeliest == ()
    drop(tmp_path, "bert.encoder.layer.1.attention.self.key")
    with pytest.raises(ModelError, match=r"lack 2 of the model's tensors, such as bert\.encoder\.layer\.1"):
        catalog.load(str(tmp_path))


def drop(folder: Path, beginning: str) -> None:
    kept = {name: each for name, each in load_file(folder / "model.safetensors").items() if not name.startswith(beginning)}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize("activation", ["gelu_new", "gelu_fast"])
def test_an_activation_that_takes_six_steps_is_computed_in_one(activation: str) -> None:
    config = hf.GPT2Config(vocab_size=97, n_positions=61, n_embd=15, n_layer=2, n_head=3, activation_function=activation)
    model = hf.GPT2LMHeadModel(config).eval()
    ids = torch.arange(2, 40)[None]
    with torch.inference_mode():
        before = model(ids).logits
        wrapped: Any = attnviz.wrap(model, tiny.tokenizer(tiny.DECODER))
        after = wrapped.model(ids).logits
    assert all(isinstance(block.mlp.act, torch.nn.GELU) for block in wrapped.model.transformer.h)
    torch.testing.assert_close(after, before, rtol=0, atol=2e-6)
