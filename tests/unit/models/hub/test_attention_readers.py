"""Which layers a model's attention is shown of: by its own numbers, and only where what is recorded is what it computes."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import Edits, WordHidden
from attnviz.analysis.whatif_comparison import describe_costs
from attnviz.analysis.wording import plain
from attnviz.core.errors import EditError, UnsupportedModelError
from attnviz.export.whatif_report import costs_csv
from attnviz.figures.whatif_grids_and_matrices import cost_grid
from attnviz.models.capabilities import bind_target, capabilities
from attnviz.models.whatif import every_head, head_costs, removal_curve
from tests import tiny

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def hybrid() -> Any:
    return attnviz.wrap(tiny.hybrid(), tiny.tokenizer(tiny.DECODER))


@pytest.mark.parametrize("family", ["bert", "mpnet", "xlnet", "gpt2", "bloom", "llama"])
def test_one_token_alone_is_causal_where_the_model_is(family: str) -> None:
    made = tiny.FAMILY[family]
    model = attnviz.wrap(made.model(), tiny.tokenizer(made.architecture))
    (attention,) = model.trace("a").maps
    assert attention.causal == (attention.kind == "decoder")


def test_layers_keep_the_models_own_numbers_and_what_is_no_attention_is_masked(hybrid: Any) -> None:
    attention = hybrid.trace(TEXT).decoder
    assert attention.n_layers == hybrid.card.n_layers == 3
    assert [bool(attention.visible(layer).any()) for layer in range(3)] == [True, False, True]
    assert attention.without_attention == (1,)
    assert not attention.layer_weights(1).any()
    model = tiny.hybrid()
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


LONGFORMER = {
    "vocab_size": tiny.VOCABULARY, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 11,
    "max_position_embeddings": 61, "attention_window": 4, "pad_token_id": 1,
}  # fmt: skip


LED = {
    "vocab_size": tiny.VOCABULARY, "d_model": 15, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 3,
    "decoder_attention_heads": 3, "encoder_ffn_dim": 11, "decoder_ffn_dim": 11, "attention_window": 4, "pad_token_id": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "output"),
    [
        (lambda: hf.LongformerModel(hf.LongformerConfig(**LONGFORMER)), "attentions"),
        (lambda: hf.LEDModel(hf.LEDConfig(**LED)), "encoder_attentions"),
    ],
    ids=["longformer", "led"],
)
def test_attention_in_a_window_is_a_band_and_the_rest_is_masked(make: Any, output: str) -> None:
    torch.manual_seed(5)
    model = make().eval()
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
        band = model(input_ids=ids, output_attentions=True)[output][1][0]
    for query in range(size):
        for key in range(max(0, query - 2), min(size, query + 3)):
            np.testing.assert_allclose(attention.layer_weights(1)[:, query, key], band[:, query, key - query + 2], atol=1e-6)


def test_global_attention_of_some_tokens_is_refused_where_a_model_is_wrapped() -> None:
    model = hf.LongformerForSequenceClassification(hf.LongformerConfig(**LONGFORMER)).eval()
    with pytest.raises(UnsupportedModelError, match="global attention"):
        attnviz.wrap(model, tiny.tokenizer())


BIG_BIRD = {
    "vocab_size": tiny.VOCABULARY, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 11,
    "max_position_embeddings": 61, "block_size": 2, "num_random_blocks": 1,
}  # fmt: skip


def test_big_bird_attends_over_whole_texts_and_reads_no_longer_one() -> None:
    torch.manual_seed(5)
    model = hf.BigBirdModel(hf.BigBirdConfig(**BIG_BIRD, attention_type="block_sparse")).eval()
    whole = hf.BigBirdModel(hf.BigBirdConfig(**BIG_BIRD, attention_type="original_full")).eval()
    whole.load_state_dict(model.state_dict())
    traced = attnviz.wrap(model, tiny.tokenizer())
    assert traced.card.max_tokens == 14
    trace = traced.trace(" ".join([TEXT] * 3))
    assert len(trace.encoder.keys) == 14
    assert trace.cut is not None
    ids = torch.tensor([capabilities(traced).encode([" ".join([TEXT] * 3)]).inputs["input_ids"]])
    with torch.no_grad():
        want = whole(input_ids=ids, output_attentions=True).attentions
        # Its own, which it has from this length on in blocks.
        torch.testing.assert_close(model(input_ids=ids)[0], whole(input_ids=ids)[0])
    for layer in range(2):
        np.testing.assert_allclose(trace.encoder.layer_weights(layer), want[layer][0], atol=1e-5)


def test_layers_without_a_sink_have_one_that_takes_nothing_where_others_have_one() -> None:
    config = hf.MiMoV2FlashConfig(
        vocab_size=tiny.VOCABULARY, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=1,
        head_dim=8, v_head_dim=4, intermediate_size=28, moe_intermediate_size=12, n_routed_experts=4, num_experts_per_tok=2,
        sliding_window=4, layer_types=["full_attention", "sliding_attention", "full_attention"], mlp_layer_types=["dense"] * 3,
    )  # fmt: skip
    torch.manual_seed(7)
    model = hf.MiMoV2FlashModel(config).eval()
    traced = attnviz.wrap(model, tiny.tokenizer(tiny.DECODER))
    attention = traced.trace(TEXT, "d0.1u").decoder
    assert attention.keys[-1].text == "sink"
    model.set_attn_implementation("eager")
    kept: list[torch.Tensor] = []
    for layer in model.layers:
        layer.self_attn.register_forward_hook(lambda _, __, made: kept.append(made[1]))
    with torch.no_grad():
        plain = traced.trace(TEXT).decoder
        model(input_ids=torch.tensor([capabilities(traced).encode([TEXT]).inputs["input_ids"]]), use_cache=False)
    for layer, want in enumerate(kept):
        np.testing.assert_allclose(plain.layer_weights(layer)[..., :-1], want[0], atol=1e-5)
    assert not plain.layer_weights(0)[..., -1].any()
    assert plain.layer_weights(1)[..., -1].all()
    np.testing.assert_allclose(attention.weights(0, 1)[-1, :-1], 1 / len(kept[0][0, 0, 0]), atol=1e-6)
    (_, together), *_ = traced.trace_all([TEXT])
    np.testing.assert_allclose(together.decoder.layer_weights(0), plain.layer_weights(0), atol=1e-6)
