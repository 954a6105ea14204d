import subprocess
import sys
from typing import Any

import pytest
import torch

import attnviz
from attnviz.core.errors import ArgumentError
from attnviz.models import catalog
from tests import tiny


def test_the_public_names_are_the_catalogs() -> None:
    assert attnviz.available() == catalog.available()
    assert "minilm" in attnviz.available()


def test_the_list_of_the_hub_is_by_kind_and_names_no_model_twice() -> None:
    assert set(catalog.HUB) == {"encoder", "decoder", "encoder-decoder"}
    names = [name for models in catalog.HUB.values() for name in models]
    assert len(set(names)) == len(names)


def test_listing_the_catalog_imports_no_torch() -> None:
    code = "import attnviz, sys; attnviz.available(); assert 'torch' not in sys.modules and 'streamlit' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_no_hugging_face_model_cannot_be_wrapped() -> None:
    with pytest.raises(ArgumentError, match="not a Linear"):
        attnviz.wrap(torch.nn.Linear(2, 3), tiny.tokenizer())
    for given in (None, b"x", "bert-base-uncased", [], 1.5):
        with pytest.raises(ArgumentError, match="wrap takes a Hugging Face model"):
            attnviz.wrap(given, tiny.tokenizer())
        with pytest.raises(ArgumentError, match="wrap takes the model's tokenizer"):
            attnviz.wrap(tiny.FAMILY["bert"].model(), given)


@pytest.mark.parametrize("given", [None, b"minilm", ["minilm"], 1.5, 7], ids=repr)
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_name_is_told(given: Any) -> None:
    with pytest.raises(ArgumentError, match="load takes the name of a model"):
        attnviz.load(given)


def test_a_wrapped_model_follows_the_training_of_the_one_in_hand() -> None:
    model = tiny.FAMILY["bert"].model()
    traced = attnviz.wrap(model, tiny.tokenizer())
    before = traced.trace("the cat sat").encoder.weights(0, 0)
    with torch.no_grad():
        model.encoder.layer[0].attention.self.query.weight.mul_(3)
    assert abs(traced.trace("the cat sat").encoder.weights(0, 0) - before).max() > 1e-3


def test_a_model_in_half_precision_is_wrapped_too() -> None:
    traced = attnviz.wrap(tiny.FAMILY["llama"].model().to(torch.bfloat16), tiny.tokenizer(tiny.DECODER))
    trace = traced.trace("the cat sat on the mat")
    assert abs(trace.decoder.layer_weights(1).sum(axis=-1) - 1).max() < 1e-5
