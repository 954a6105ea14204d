"""Which layers a model's attention is shown of: by its own numbers, and only where what is recorded is what it computes."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import Edits, WordHidden
from attnviz.analysis.whatif.cost_words import describe_costs
from attnviz.analysis.wording import plain
from attnviz.core.errors import EditError, UnsupportedModelError
from attnviz.export.whatif.cost_sheet import costs_csv
from attnviz.figures.whatif.costs import cost_grid
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.hub import capture
from attnviz.models.whatif.head_costs import every_head, head_costs, removal_curve
from tests import tiny

TEXT = "the cat sat on the mat"


def minimax() -> Any:
    """Attention in layers 0 and 2, linear attention in layer 1."""
    config = hf.MiniMaxConfig(
        vocab_size=tiny.VOCABULARY, hidden_size=24, num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
        head_dim=4, intermediate_size=12, num_local_experts=3, block_size=5, tie_word_embeddings=True,
        layer_types=["full_attention", "linear_attention", "full_attention"],
    )  # fmt: skip
    torch.manual_seed(11)
    model = hf.MiniMaxModel(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
    return model


@pytest.fixture(scope="module")
def hybrid() -> Any:
    return attnviz.wrap(minimax(), tiny.tokenizer(tiny.DECODER))


def test_layers_keep_the_models_own_numbers_and_what_is_no_attention_is_masked(hybrid: Any) -> None:
    attention = hybrid.trace(TEXT).decoder
    assert attention.n_layers == hybrid.card.n_layers == 3
    assert [bool(attention.visible(layer).any()) for layer in range(3)] == [True, False, True]
    assert attention.without_attention == (1,)
    assert not attention.layer_weights(1).any()
    model = minimax()
    model.set_attn_implementation("eager")
    with torch.no_grad():
        ids = hybrid.tensors(hybrid.encode([TEXT]))
        kept: list[torch.Tensor] = []
        for layer in (0, 2):
            model.layers[layer].self_attn.register_forward_hook(lambda _, __, made: kept.append(made[1]))
        model(**ids, use_cache=False)
    for layer, want in zip((0, 2), kept, strict=True):
        np.testing.assert_allclose(attention.layer_weights(layer), want[0], atol=1e-5)


def test_a_layer_is_edited_by_its_own_number(hybrid: Any) -> None:
    before, after = hybrid.trace(TEXT).decoder, hybrid.trace(TEXT, "d2.1z").decoder
    np.testing.assert_array_equal(after.layer_weights(0), before.layer_weights(0))
    assert [bool(after.weights(2, head).any()) for head in range(6)] == [True, False, True, True, True, True]
    with pytest.raises(EditError, match=r"Layer 1 .* without attention.*choose 0 or 2"):
        hybrid.trace(TEXT, "d1.1z")
    assert not hybrid.trace(TEXT, Edits((WordHidden("decoder", 3),))).decoder.weights(2, 0)[:, 3].any()


def test_every_head_that_attends_is_switched_off_and_no_other(hybrid: Any) -> None:
    assert {layer for _, layer, _ in every_head(hybrid)} == {0, 2}
    costs = head_costs(hybrid, TEXT)
    assert costs.costs["decoder"].shape == (3, 6)
    assert {layer for _, layer, _ in costs.ranked} == {0, 2}
    assert "of the 12 heads" in plain(describe_costs(costs)[1])
    assert cost_grid(costs).count("<button") == costs_csv(costs).count(b"decoder") == 12
    assert removal_curve(hybrid, TEXT, costs).counts[-1] == 12


def test_many_texts_and_what_is_explained_know_the_numbers(hybrid: Any) -> None:
    for index, trace in hybrid.trace_all([TEXT, "the dog ran"]):
        want = hybrid.trace([TEXT, "the dog ran"][index]).decoder
        for layer in range(3):
            np.testing.assert_allclose(trace.decoder.layer_weights(layer), want.layer_weights(layer), atol=1e-5)
    assert [site.layer for site in bind_target(capabilities(hybrid), attnviz.Prompt(TEXT)).sites] == [0, 2]


def test_what_is_recorded_is_held_against_the_softmaxes_of_a_model_that_gives_no_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = capture._near
    monkeypatch.setattr(capture, "_near", lambda got, want: layers(got * 0.5, want))
    with pytest.raises(UnsupportedModelError):
        attnviz.wrap(minimax(), tiny.tokenizer(tiny.DECODER))


LONGFORMER = {
    "vocab_size": tiny.VOCABULARY, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 11,
    "max_position_embeddings": 61, "attention_window": 4, "pad_token_id": 1,
}  # fmt: skip


def test_attention_in_a_window_is_a_band_and_the_rest_is_masked() -> None:
    torch.manual_seed(5)
    model = hf.LongformerModel(hf.LongformerConfig(**LONGFORMER)).eval()
    attention = attnviz.wrap(model, tiny.tokenizer()).trace("the cat sat on the mat").encoder
    size = len(attention.keys)
    near = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 2
    np.testing.assert_array_equal(attention.visible(0), near)
    for layer in range(2):
        weights = attention.layer_weights(layer)
        np.testing.assert_array_equal(weights > 0, np.broadcast_to(near, weights.shape))
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    ids = tiny.tokenizer()("the cat sat on the mat", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        band = model(input_ids=ids, output_attentions=True).attentions[1][0]
    for query in range(size):
        for key in range(max(0, query - 2), min(size, query + 3)):
            np.testing.assert_allclose(attention.layer_weights(1)[:, query, key], band[:, query, key - query + 2], atol=1e-6)


def test_global_attention_of_some_tokens_is_refused_where_a_model_is_wrapped() -> None:
    model = hf.LongformerForSequenceClassification(hf.LongformerConfig(**LONGFORMER)).eval()
    with pytest.raises(UnsupportedModelError, match="global attention"):
        attnviz.wrap(model, tiny.tokenizer())
