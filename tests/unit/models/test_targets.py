"""Vectors in the place of a text's tokens, and what a model has to explain, whatever its family does with either."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import ModelError
from attnviz.core.trace import Prompt
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.targets import BoundTarget
from tests import tiny

PAIR = Prompt("the cat sat on the mat", pair="the dog ran")
GPT = {"vocab_size": tiny.VOCABULARY, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 61}
XLM: dict[str, Any] = {"n_words": tiny.VOCABULARY, "emb_dim": 12, "n_layers": 2, "n_heads": 3, "pad_index": 0}
GRADIENTS = ("gradient-input", "gradient-norm", "integrated-gradients")


@pytest.mark.parametrize(
    ("kind", "config", "shape"),
    [
        # It changes what it has looked up in place.
        (hf.CTRLLMHeadModel, lambda: hf.CTRLConfig(**GPT, dff=7), tiny.DECODER),
        # It looks up among its words, too, from which of two texts a token is.
        (hf.XLMModel, lambda: hf.XLMConfig(**XLM), tiny.ENCODER),
        # Its texts stand upright, a column each.
        (hf.XLNetLMHeadModel, lambda: hf.XLNetConfig(vocab_size=97, d_model=12, n_layer=2, n_head=3, d_inner=7), tiny.DECODER),
    ],
    ids=["ctrl", "xlm", "xlnet"],
)
def test_vectors_of_other_words_give_what_these_words_give(kind: Any, config: Any, shape: str) -> None:
    torch.manual_seed(3)
    bound = bind_target(attnviz.wrap(kind(config()).eval(), tiny.tokenizer(shape)), PAIR)
    other = bound.ids.clone()
    other[2] = 11
    vectors = bound.embedding[other].detach()[None]
    got, want, before = bound.outcome_of(vectors).score, bound.outcome(other[None]).score, bound.outcome(bound.ids[None]).score
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)
    # As many texts as each has tokens, which stand upright or not.
    square = bound.outcome_of(vectors.expand(len(bound.ids), -1, -1)).score
    torch.testing.assert_close(square, want.expand(len(square)), atol=1e-5, rtol=1e-5)
    assert not torch.equal(want, before)
    for name in GRADIENTS:
        assert np.abs(METHODS[name].compute(bound).values).max() > 0


def test_a_decoder_with_labels_explains_its_label() -> None:
    config = hf.GPT2Config(**GPT, pad_token_id=0)
    config.num_labels = 3
    model = attnviz.wrap(hf.GPT2ForSequenceClassification(config).eval(), tiny.tokenizer(tiny.DECODER))
    assert list(capabilities(model).targets(PAIR)) == ["label", "label:0", "label:1", "label:2"]
    assert bind_target(model, PAIR).target.startswith("the label")


@pytest.mark.parametrize("pad", [None, 3], ids=["no padding", "padding that texts hold"])
def test_a_label_is_read_at_the_last_token_whatever_that_is(pad: int | None) -> None:
    config = hf.GPT2Config(**GPT, pad_token_id=pad)
    config.num_labels = 3
    torch.manual_seed(5)
    model = hf.GPT2ForSequenceClassification(config).eval()
    bound = bind_target(attnviz.wrap(model, tiny.tokenizer(tiny.DECODER)), PAIR, "label:1")
    texts = bound.ids.repeat(2, 1)
    texts[1, -1] = 3
    with torch.no_grad():
        want = model.score(model.transformer(texts)[0][:, -1])[:, 1]
        torch.testing.assert_close(bound.outcome(texts).score, want)
    assert model.config.pad_token_id == pad
    for method in METHODS.values():
        assert np.isfinite(method.compute(bound).values).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"num_labels": 3}, lambda logits: logits.softmax(dim=-1)),
        ({"num_labels": 1}, torch.sigmoid),
        ({"num_labels": 3, "problem_type": "multi_label_classification"}, torch.sigmoid),
    ],
    ids=["one of several", "one alone", "each by itself"],
)
def test_labels_have_the_probabilities_that_transformers_gives_them(options: dict[str, Any], expected: Any) -> None:
    torch.manual_seed(7)
    config = hf.BertConfig(**tiny._BERT, **options)
    model = attnviz.wrap(hf.BertForSequenceClassification(config).eval(), tiny.tokenizer())
    prompt = Prompt(PAIR.text)
    with torch.no_grad():
        want = expected(model.model(**model.tensors(model.encode_prompt(prompt))).logits[0])
    for place, share in enumerate(want):
        bound = bind_target(model, prompt, f"label:{place}")
        torch.testing.assert_close(bound.outcome(bound.ids[None]).log_probability[0].exp(), share)
    ((_, likeliest),) = model.reading(prompt).likeliest
    assert [share for _, share in likeliest] == pytest.approx(sorted(want.tolist(), reverse=True), abs=1e-6)


def test_labels_of_tokens_are_not_taken_for_pieces() -> None:
    model = hf.GPT2ForTokenClassification(hf.GPT2Config(**GPT)).eval()
    assert attnviz.wrap(model, tiny.tokenizer(tiny.DECODER)).reading(Prompt(PAIR.text)).likeliest == ()


def test_what_a_model_raises_is_one_sentence_that_names_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise NotImplementedError

    monkeypatch.setattr("attnviz.attribution.gradients.gradient_norm", fail)
    with pytest.raises(ModelError, match="Gradient norm"):
        METHODS["gradient-norm"].compute(object.__new__(BoundTarget))
