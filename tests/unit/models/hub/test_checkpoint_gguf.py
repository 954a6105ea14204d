"""GGUF files: the weights that the file has, in the order that transformers wants, and the number of their bits."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
import transformers as hf
from gguf import GGMLQuantizationType
from tokenizers.pre_tokenizers import ByteLevel

from attnviz.core.errors import ModelError, ModelNotFoundError, ModelTooLargeError, UnsupportedModelError
from attnviz.models import catalog
from attnviz.models.hub import checkpoint
from tests import hub, tiny
from tests.hub import Hub, Repository

TEXT = "the cat sat on 42"
HEADS, KEY_HEADS, DIM, LAYERS, HIDDEN = 3, 1, 32, 2, 64
NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


def vocabulary() -> tuple[list[str], list[str]]:
    """Return the pieces and merges of a byte-level tokenizer: every byte, and two words."""
    letters = sorted(ByteLevel.alphabet())
    merges = ["t h", "th e", "c a", "ca t"]
    return ["<s>", "</s>", *letters, *(merge.replace(" ", "") for merge in merges)], merges


def interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """Put the rows of each head as llama.cpp has them: rotary pairs side by side, where transformers has halves."""
    return weight.reshape(heads, 2, -1, weight.shape[-1]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path: Path, architecture: str = "llama", kind: GGMLQuantizationType = GGMLQuantizationType.Q8_0) -> Any:
    """Write a random Llama and its tokenizer; return the model of transformers that has the file's rounded weights."""
    tokens, merges = vocabulary()
    torch.manual_seed(7)
    config = hf.LlamaConfig(
        vocab_size=len(tokens), hidden_size=HEADS * DIM, num_attention_heads=HEADS, num_key_value_heads=KEY_HEADS, head_dim=DIM,
        num_hidden_layers=LAYERS, intermediate_size=HIDDEN, max_position_embeddings=61, rms_norm_eps=1e-5,
        bos_token_id=0, eos_token_id=1, tie_word_embeddings=True,
    )  # fmt: skip
    model = hf.LlamaForCausalLM(config).eval()
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(61)
    writer.add_embedding_length(HEADS * DIM)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(DIM)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    state = model.state_dict()
    names = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
    names |= {
        f"blk.{layer}.{short}": f"model.layers.{layer}.{long}" for layer in range(LAYERS) for short, long in NAMES.items()
    }
    for short, long in names.items():
        weight = state[f"{long}.weight"]
        if weight.dim() == 1:
            weight.copy_(1 + 0.1 * torch.randn_like(weight))
            writer.add_tensor(f"{short}.weight", weight.numpy().astype(np.float32))
            continue
        weight.normal_(0, 0.3)
        heads = {"attn_q": HEADS, "attn_k": KEY_HEADS}.get(short.split(".")[-1])
        stored = interleaved(weight.numpy(), heads) if heads else weight.numpy()
        packed = gguf.quants.quantize(stored, kind)
        writer.add_tensor(f"{short}.weight", packed, raw_dtype=kind)
        rounded = gguf.quants.dequantize(packed, kind).astype(np.float32)
        if heads:
            rounded = rounded.reshape(heads, -1, 2, rounded.shape[-1]).swapaxes(1, 2).reshape(rounded.shape)
        weight.copy_(torch.from_numpy(rounded))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return path, write_gguf(path)


def test_the_weights_of_the_file_are_drawn(written: tuple[Path, Any]) -> None:
    path, model = written
    traced = catalog.load(path)
    trace = traced.trace(TEXT)
    pieces = traced.tokenizer(TEXT, return_tensors="pt")["input_ids"]
    # By hand: a space begins a word, and of its letters only "t h", "th e", "c a" and "ca t" are merged.
    by_hand = ["the", *"Ġ", "cat", *"Ġsat", *"Ġon", *"Ġ42"]
    assert traced.tokenizer.convert_ids_to_tokens(pieces[0]) == by_hand
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        want = model(pieces, output_attentions=True).attentions
    for layer in range(LAYERS):
        # Sums of 96 products in float32.
        np.testing.assert_allclose(trace.decoder.layer_weights(layer), want[layer][0].numpy(), atol=1e-5)
    assert traced.card.weights == "GGUF, 8-bit weights (Q8_0)"


def test_a_folder_with_one_such_file_is_opened_and_of_several_one_is_named(written: tuple[Path, Any], tmp_path: Path) -> None:
    one = tmp_path / "one.gguf"
    one.write_bytes(written[0].read_bytes())
    assert catalog.load(tmp_path).card.n_layers == LAYERS
    (tmp_path / "two.gguf").write_bytes(one.read_bytes())
    with pytest.raises(ModelNotFoundError, match=r"has 2 GGUF files; name one, such as .*one\.gguf"):
        catalog.load(tmp_path)


def test_a_file_that_is_damaged_too_large_or_of_another_kind(
    written: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bad.gguf"
    for content in (b"", b"GGUF", b"x" * 999, written[0].read_bytes()[:5000]):
        path.write_bytes(content)
        with pytest.raises(ModelError, match="damaged or cut short"):
            catalog.load(path)
    write_gguf(path, "someday")
    with pytest.raises(UnsupportedModelError, match="of the architecture someday"):
        catalog.load(path)
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", "99")
    with pytest.raises(ModelTooLargeError):
        catalog.load(written[0])
    monkeypatch.setattr(checkpoint.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnsupportedModelError, match="pip install gguf accelerate"):
        catalog.load(written[0])


def test_a_repository_of_such_files_is_read_by_its_name_or_a_files(
    written: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = written[0].read_bytes()
    repositories = {"owner/one": Repository({"main": {"tiny.gguf": content}}),
                    "owner/two": Repository({"main": {"a-Q4.gguf": b"x", "b-Q8.gguf": content}})}  # fmt: skip
    with hub.serving(Hub(repositories)) as server:
        hub.use(server, tmp_path / "cache", monkeypatch)
        model = catalog.load("owner/one")
        assert (model.card.weights, model.card.name) == ("GGUF, 8-bit weights (Q8_0)", "owner/one")
        with pytest.raises(ModelNotFoundError, match=r"name one, such as owner/two/a-Q4\.gguf"):
            catalog.load("owner/two")
        assert catalog.load("owner/two/b-Q8.gguf").card.n_layers == LAYERS
        with pytest.raises(ModelNotFoundError, match=r"has no file c\.gguf"):
            catalog.load("owner/two/c.gguf")
        server.asked.clear()
        assert catalog.load("owner/two/b-Q8.gguf").card.n_layers == LAYERS
        assert not server.fetched("b-Q8.gguf")


def test_a_revision_of_the_hub_is_named_in_three_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for seed in ("early", "late"):
        folder = tmp_path / seed
        model = tiny.FAMILY["gpt2"].save(folder)
        if seed == "early":
            with torch.no_grad():
                model.wte.weight.mul_(0.5)
            model.save_pretrained(folder)
        files.append(hub.files_of(folder))
    with hub.serving(Hub({"owner/model": Repository({"step3": files[0], "main": files[1]})})) as server:
        hub.use(server, tmp_path / "cache", monkeypatch)
        commit = server.repositories["owner/model"].commit("step3")
        latest = catalog.load("owner/model")
        assert latest.card.revision != commit
        for model in (
            catalog.load("owner/model", revision="step3"),
            catalog.load("owner/model@step3"),
            catalog.load("https://huggingface.co/owner/model/tree/step3"),
        ):
            assert (model.card.revision, model.card.name) == (commit, "owner/model@step3")
            differences = model.trace(TEXT).decoder.layer_weights(1) - latest.trace(TEXT).decoder.layer_weights(1)
            assert np.abs(differences).max() > 1e-3
        with pytest.raises(ModelNotFoundError, match="has no revision step9"):
            catalog.load("owner/model@step9")
