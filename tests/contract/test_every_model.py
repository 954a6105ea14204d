"""What every model must keep, one family a parameter: its attention as shown is its attention as computed, within 1e-5.

The truth here is the same model under transformers' own "eager" attention with `output_attentions=True`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

import attnviz
from attnviz import AttentionTrace, Prompt
from attnviz.attribution.methods import METHODS
from attnviz.core.errors import UnsupportedModelError
from attnviz.models.base import AttentionModel
from attnviz.models.capabilities import capabilities
from attnviz.models.hub import attention_readers as reading
from attnviz.models.hub import attention_readers as tape
from attnviz.models.hub import download as hub
from benchmarks import bench_census
from benchmarks.census_models import architectures
from tests import tiny

TEXT = "The cat sat on the mat, because it was too tired."
TOLERANCE = 1e-5
OUTPUTS = {
    "attentions": "encoder",
    "encoder_attentions": "encoder",
    "decoder_attentions": "decoder",
    "cross_attentions": "cross",
}

by_family = pytest.mark.parametrize("family", tiny.some_now(tiny.FAMILIES), ids=str)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "17")


def truth(model: Any, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, list[np.ndarray]]]:
    """The first output of the eager model, and its attention by kind: a list of (batch, head, query, key)."""
    with torch.no_grad():
        outputs = model(**inputs, output_attentions=True)
    actual = {OUTPUTS[name]: layers for name, layers in outputs.items() if name in OUTPUTS and layers}
    return outputs[0], {kind: [layer.float().cpu().numpy() for layer in layers] for kind, layers in actual.items()}


def batch(family: tiny.Family, device: str, side: str) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Three rows of 11, 7 and 5 tokens, padded on one side, and what of them is not padding."""
    lengths, longest = (11, 7, 5), 11
    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(5, tiny.VOCABULARY, (len(lengths), longest), generator=generator)
    kept = torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        kept[row, longest - length :] = 1
        if side == "right":
            kept[row] = kept[row].flip(0)
    pad = 1 if family.config().pad_token_id == 1 else 0
    inputs = {"input_ids": ids.masked_fill(kept == 0, pad), "attention_mask": kept}
    if family.architecture == tiny.SEQ2SEQ:
        inputs["decoder_input_ids"] = torch.randint(5, tiny.VOCABULARY, (len(lengths), 8), generator=generator)
    return {name: tensor.to(device) for name, tensor in inputs.items()}, kept.bool()


def assert_maps_equal(trace: AttentionTrace, want: dict[str, list[np.ndarray]]) -> None:
    assert set(trace.kinds) == set(want)
    for attention in trace.maps:
        layers = want[attention.kind]
        assert attention.n_layers == len(layers)
        assert attention.n_heads == layers[0].shape[1]
        for layer, weights in enumerate(layers):
            n_keys = weights.shape[-1]
            np.testing.assert_allclose(attention.layer_weights(layer)[..., :n_keys], weights[0], atol=TOLERANCE)
            head = attention.n_heads - 1
            np.testing.assert_array_equal(attention.weights(layer, head), attention.layer_weights(layer)[head])


@by_family
def test_a_traced_folder_shows_what_the_eager_model_computes(family: tiny.Family, tmp_path: Path) -> None:
    assert_a_folder_shows_what_the_eager_model_computes(family, tmp_path, "cpu")


def assert_a_folder_shows_what_the_eager_model_computes(family: tiny.Family, folder: Path, device: str) -> None:
    """Hold the trace of a saved model against the eager one; both compute on the device, which is that of the settings."""
    model = family.save(folder).to(device)
    traced = hub.load(str(folder))
    assert traced.card.architecture == family.architecture
    assert traced.card.device.startswith(device)
    assert isinstance(traced.reader, reading.AttentionFunctionReader if family.recorded else reading.EagerReader)

    target = "the dog ran" if family.architecture == tiny.SEQ2SEQ else None
    trace = traced.trace(Prompt(TEXT, target=target))

    encoded = traced.tokenizer(TEXT, return_tensors="pt")
    inputs = {name: ids.to(device) for name, ids in encoded.items() if name in traced.accepts}
    if target:
        labels = traced.tokenizer(text_target=target, return_tensors="pt")["input_ids"]
        start = torch.tensor([[model.config.decoder_start_token_id]])
        inputs["decoder_input_ids"] = torch.cat([start, labels[:, :-1]], dim=1).to(device)
    _, want = truth(model, inputs)
    if family.architecture != tiny.SEQ2SEQ:
        want = {family.architecture: want["encoder"]}
    assert_maps_equal(trace, want)
    assert {attention.kind: attention.causal for attention in trace.maps} == {kind: kind == "decoder" for kind in trace.kinds}


@pytest.mark.parametrize("side", ["left", "right"])
@by_family
def test_a_padded_batch_is_read_row_by_row(family: tiny.Family, side: str) -> None:
    assert_a_padded_batch_is_read_row_by_row(family, side, "cpu")


def assert_a_padded_batch_is_read_row_by_row(family: tiny.Family, side: str, device: str) -> None:
    """Hold each row of a padded batch against the eager model."""
    model = family.model().to(device)
    inputs, kept = batch(family, device, side)
    want_output, want = truth(model, inputs)
    if family.recorded:
        model.set_attn_implementation(tape.NAME)
    reader = reading.AttentionFunctionReader(model) if family.recorded else reading.EagerReader(model)
    source, everything = kept.numpy(), np.ones((3, 8), bool)
    for row in range(3):
        output, stacks = reader.read(inputs, row=row)
        rows = everything if family.architecture == tiny.SEQ2SEQ else source
        np.testing.assert_allclose(
            output[row].float().cpu()[rows[row]], want_output[row].cpu()[rows[row]], atol=TOLERANCE, rtol=TOLERANCE
        )
        assert set(stacks) == set(want)
        for kind, stack in stacks.items():
            queries = source[row] if kind == "encoder" else everything[row]
            for layer, weights in enumerate(want[kind]):
                n_keys = weights.shape[-1]
                got = stack.store.layer(layer)[:, queries, :n_keys]
                np.testing.assert_allclose(got, weights[row][:, queries], atol=TOLERANCE)
                if kind != "decoder" and n_keys == source.shape[1]:
                    assert not got[..., ~source[row]].any(), "padding takes attention"


@by_family
def test_a_wrapped_model_is_traced_and_stays_as_it_was(family: tiny.Family) -> None:
    model = family.model().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    traced = attnviz.wrap(model, tiny.tokenizer(family.architecture))
    trace = traced.trace(TEXT)
    assert model.training
    assert model.config._attn_implementation == "eager"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    shared = {parameter.data_ptr() for parameter in model.parameters()}
    assert {parameter.data_ptr() for parameter in traced.model.parameters()} == shared
    assert trace.maps[0].n_layers == traced.card.n_layers


# What transformers can give: which attention, in which type.
AS_LOADED = [
    ("sdpa", torch.float32), ("sdpa", torch.bfloat16), ("sdpa", torch.float16),
    ("eager", torch.bfloat16), ("eager", torch.float16),
]  # fmt: skip
ROUNDING = {torch.float32: 0.0, torch.bfloat16: 2**-8, torch.float16: 2**-11}
# Of the others a half of the sixteen-bit ones is loaded.
IN_ALL = ("bert", "bloom", "deberta-v2", "falcon", "gptj", "llama", "mpnet", "xlnet")


@pytest.mark.parametrize("family", tiny.some_now([*tiny.FAMILIES, tiny.GPTJ]), ids=str)
def test_a_model_as_from_pretrained_gives_it_is_shown_as_it_computes(family: tiny.Family, tmp_path: Path) -> None:
    assert_shown_as_it_computes(family, tmp_path, "cpu")


def assert_shown_as_it_computes(family: tiny.Family, folder: Path, device: str) -> None:
    """Hold what transformers loads, in each attention and type, against eager models."""
    kind = type(family.save(folder))
    for attention, dtype in AS_LOADED if family.name in IN_ALL else AS_LOADED[1::3]:
        if attention == "sdpa" and not kind._supports_sdpa:
            continue
        model = kind.from_pretrained(folder, attn_implementation=attention, dtype=dtype).eval().to(device)
        if family.name == "xlnet":
            # transformers converts some of its tensors alone.
            with pytest.raises(UnsupportedModelError, match=rf"in {str(dtype)[6:]} and float32.*by model.to\({dtype}\)"):
                attnviz.wrap(model, tiny.tokenizer(family.architecture))
            model = model.to(dtype)
        traced = attnviz.wrap(model, tiny.tokenizer(family.architecture))
        trace = traced.trace(Prompt(TEXT, target="the dog ran" if family.architecture == tiny.SEQ2SEQ else None))
        assert model.config._attn_implementation == attention
        assert {each.kind: each.causal for each in trace.maps} == {kind: kind == "decoder" for kind in trace.kinds}
        _assert_as_computed(family, model, traced, trace, ROUNDING[dtype])


def _assert_as_computed(family: tiny.Family, model: Any, traced: Any, trace: AttentionTrace, rounding: float) -> None:
    """Hold a trace against eager models of the same weights: in float32, and in their own type, whose rounding is allowed."""
    encoded, device = traced.encode([TEXT]).inputs, model.device
    inputs = {name: torch.tensor([ids], device=device) for name, ids in encoded.items() if name in traced.accepts}
    if family.architecture == tiny.SEQ2SEQ:
        start, labels = model.config.decoder_start_token_id, traced.encode(["the dog ran"], target=True).inputs["input_ids"]
        inputs["decoder_input_ids"] = torch.tensor([[start, *labels[:-1]]], device=device)
    wanted = []
    for dtype in (torch.float32, model.dtype):
        eager = family.model().to(device, dtype)
        eager.load_state_dict(model.state_dict())
        _, want = truth(eager, inputs)
        wanted.append(want if family.architecture == tiny.SEQ2SEQ else {family.architecture: want["encoder"]})
    exact, rounded = wanted
    for attention in trace.maps:
        for layer in range(attention.n_layers):
            shown, n_keys = attention.layer_weights(layer), exact[attention.kind][layer].shape[-1]
            np.testing.assert_allclose(shown.sum(axis=-1), 1, atol=1e-6)
            shown, right = shown[..., :n_keys], exact[attention.kind][layer][0]
            if not rounding:
                np.testing.assert_allclose(shown, right, atol=TOLERANCE)
            # No farther from the exact weights than the model's own are, but for one rounding of each.
            off = np.abs(shown - right)
            own = np.abs(rounded[attention.kind][layer][0] - right)
            assert off.mean() <= 1.5 * own.mean() + rounding * right.mean() + 1e-7
            assert off.max() <= 2.5 * own.max() + rounding + TOLERANCE


# It reads the embedding of the next token beside that of each, padding too.
MOBILEBERT = tiny.Family("mobilebert", tiny.ENCODER, lambda: hf.MobileBertConfig(
    vocab_size=tiny.VOCABULARY, hidden_size=24, num_attention_heads=3, num_hidden_layers=2, intermediate_size=11,
    embedding_size=7, intra_bottleneck_size=12, max_position_embeddings=61))  # fmt: skip
# It turns the positions of a text otherwise where another in its batch is long.
LONG_ROPE = tiny.Family("long-rope", tiny.DECODER, lambda: hf.Phi3Config(
    vocab_size=tiny.VOCABULARY, pad_token_id=0, eos_token_id=3, hidden_size=24, num_attention_heads=6, num_key_value_heads=2,
    num_hidden_layers=2, intermediate_size=13, max_position_embeddings=61, original_max_position_embeddings=7,
    rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.0], "long_factor": [3.0, 5.0],
                     "original_max_position_embeddings": 7}))  # fmt: skip


@pytest.mark.parametrize(
    "family",
    [MOBILEBERT, LONG_ROPE, *tiny.some_now(family for family in tiny.FAMILIES if family.architecture != tiny.SEQ2SEQ)],
    ids=str,
)
def test_many_texts_show_what_each_shows_alone(family: tiny.Family) -> None:
    model = capabilities(attnviz.wrap(family.model(), tiny.tokenizer(family.architecture)))
    texts = [TEXT, "The dog ran.", "It was too tired to sit on the mat.", "The cat sat."]
    together = dict(model.trace_all(texts))
    assert sorted(together) == [0, 1, 2, 3]
    for index, text in enumerate(texts):
        (actual,), (alone,) = together[index].maps, model.trace(text).maps
        assert (actual.kind, actual.queries, actual.keys) == (alone.kind, alone.queries, alone.keys)
        assert actual.causal == (alone.causal and len(alone.keys) == len(alone.queries))
        for layer in range(alone.n_layers):
            np.testing.assert_allclose(actual.layer_weights(layer), alone.layer_weights(layer), atol=TOLERANCE)


# Other families of the census: the registry, the name, whether heads are switched off, whether an output is explained.
CENSUS = [
    *(("text", name, True, False) for name in ("qwen3_next", "jamba", "codegen", "gptj", "t5gemma", "fsmt")),
    *(("text", name, True, True) for name in ("deberta", "lfm2", "xglm", "gpt_neo", "layoutlm", "big_bird")),
    *(("text", name, False, True) for name in ("longformer", "reformer")),
    ("text", "led", False, False),
    *(("question answering", name, True, True) for name in ("flaubert", "xlm")),
    *(("question answering", name, True, False) for name in ("bart", "mbart")),
    *(("next token", name, True, True) for name in ("whisper", "trocr", "git", "mimo_v2_flash")),
    *(("writing", name, True, True) for name in ("encoder-decoder", "t5gemma")),
    *(("classification", name, True, True) for name in ("bart", "ctrl", "mt5")),
]  # fmt: skip


@pytest.mark.gate
@pytest.mark.parametrize(("registry", "name", "edited", "explained"), CENSUS)
def test_other_families_are_read_as_their_own_attention_edited_and_explained(
    registry: str, name: str, edited: bool, explained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ATTNVIZ_MAX_TOKENS")
    monkeypatch.setattr(
        bench_census, "METHODS", {each: METHODS[each] for each in ("attention", "gradient-norm", "leave-one-out")}
    )
    found = bench_census.examine(next(each for each in architectures(registry) if each.model_type == name))
    assert found is not None
    assert (found.trace, found.foreign) == ("exact", []), found.note
    assert (found.edits == "yes", found.methods > 0) == (edited, explained), (found.edits, found.refusals)


@pytest.fixture(scope="module")
def minilm() -> AttentionModel:
    return attnviz.load("minilm")
