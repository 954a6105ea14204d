"""Every way in which a model cannot be loaded ends in one clear sentence."""

import json
import os
import shutil
import threading
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub.errors
import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from attnviz.attribution.methods import METHODS
from attnviz.attribution.quantity_maps import run
from attnviz.core.errors import (
    AttnvizError,
    ModelError,
    ModelNotFoundError,
    ModelTooLargeError,
    PromptError,
    UnsupportedModelError,
)
from attnviz.core.trace import Prompt
from attnviz.core.weights import rounding_of
from attnviz.models import catalog, device
from attnviz.models.capabilities import bind_target
from attnviz.models.hub import checkpoint, download
from attnviz.models.hub import download as hub
from tests import tiny

SIZES = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    tiny.FAMILY["bert"].save(folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A good model folder, for a test to break."""
    return Path(shutil.copytree(saved, tmp_path / "model"))


def refusal(folder: Path | str, kind: type[AttnvizError], **options: Any) -> str:
    """The sentence that refuses it: one sentence, that tells what to do."""
    with pytest.raises(kind) as caught:
        catalog.load(str(folder), **options)
    assert type(caught.value) is kind
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    assert len(sentence) < 320
    return sentence


def configure(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_good_folder_loads_and_tells_what_it_is(folder: Path) -> None:
    stages: list[tuple[str, float | None]] = []
    model = catalog.load(str(folder), progress=lambda stage, fraction: stages.append((stage, fraction)))
    card = model.card
    assert (card.architecture, card.n_layers, card.n_heads, card.max_tokens) == ("encoder", 2, 3, 61)
    assert card.parameters == sum(parameter.numel() for parameter in tiny.FAMILY["bert"].model().parameters())
    assert card.reads == ("pair",)
    assert stages == [(f"Loading {folder}", None)]


@pytest.mark.parametrize("relative", [False, True])
def test_folders_can_be_forbidden(folder: Path, monkeypatch: pytest.MonkeyPatch, relative: bool) -> None:
    monkeypatch.chdir(folder.parent)
    sentence = refusal("./model" if relative else folder, ModelNotFoundError, allow_folders=False)
    assert sentence.startswith("Folders cannot be named here")


def test_a_forbidden_folder_in_the_form_of_an_id_is_looked_for_on_the_hub(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    assert "hub" in refusal("model", ModelNotFoundError, allow_folders=False)
    assert catalog.load("model").card.n_heads == 3


CUSTOM = {"model_type": "custom", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}


def damage(folder: Path, content: Any) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(content(path.read_bytes()))


def become_vision(folder: Path) -> None:
    hf.ViTModel(hf.ViTConfig(**SIZES, image_size=8, patch_size=4)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (shutil.rmtree, ModelNotFoundError, "no folder"),
        (lambda folder: (folder / "config.json").unlink(), ModelNotFoundError, "config.json"),
        (lambda folder: configure(folder, model_type="mlp"), UnsupportedModelError, "model"),
        (lambda folder: configure(folder, hidden_size="many"), ModelError, "config.json"),
        (lambda folder: (folder / "config.json").write_text('{"layers": [5, 3]}'), UnsupportedModelError, "model type"),
        (lambda folder: (folder / "config.json").write_text("{model"), ModelError, "config.json"),
        (lambda folder: configure(folder, **CUSTOM), UnsupportedModelError, "code of its own"),
        (lambda folder: (folder / "model.safetensors").unlink(), ModelNotFoundError, "no weights"),
        (lambda folder: damage(folder, lambda whole: whole[: len(whole) // 2]), ModelError, "damaged"),
        (lambda folder: damage(folder, lambda whole: b""), ModelError, "damaged"),
        (lambda folder: damage(folder, lambda whole: b"x" * 999), ModelError, "damaged"),
        (lambda folder: configure(folder, hidden_size=18), ModelError, "other sizes than its config.json says"),
        (lambda folder: configure(folder, num_hidden_layers=3), ModelError, "lack"),
        (lambda folder: (folder / "tokenizer.json").unlink(), UnsupportedModelError, "tokenizer"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), ModelError, "tokenizer"),
        (become_vision, UnsupportedModelError, "does not read text"),
    ],
)
def test_a_folder_that_cannot_be_loaded_is_one_sentence(change: Any, kind: Any, words: str, folder: Path) -> None:
    (folder / "code.py").write_text("raise SystemExit('ran')")
    change(folder)
    assert words in refusal(folder, kind)


class Harm:
    """Makes a file when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.made), "w")


def test_a_pickle_is_opened_only_where_it_may_be_and_never_runs(folder: Path, tmp_path: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    want = catalog.load(str(folder)).trace("the cat sat").encoder.layer_weights(1)
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    model = catalog.load(str(folder))
    assert model.card.weights == "pytorch_model.bin, of which only the numbers were read"
    np.testing.assert_array_equal(model.trace("the cat sat").encoder.layer_weights(1), want)
    assert "pickle" in refusal(folder, UnsupportedModelError, allow_pickles=False)
    made = tmp_path / "made"
    torch.save({**weights, "harm": Harm(made)}, folder / "pytorch_model.bin")
    assert "damaged" in refusal(folder, ModelError)
    assert not made.exists()


def weights_under(folder: Path, prefix: str) -> None:
    weights = load_file(folder / "model.safetensors")
    save_file({prefix + name: value.clone() for name, value in weights.items()}, folder / "model.safetensors", {"format": "pt"})


@pytest.mark.parametrize("prefix", tiny.first_now(["_orig_mod.module.", "backbone.", "_orig_mod.", "module."], 2))
def test_a_prefix_that_all_weights_were_saved_under_is_taken_off(prefix: str, folder: Path, saved: Path) -> None:
    weights_under(folder, prefix)
    want = catalog.load(str(saved)).trace("the cat sat").encoder.layer_weights(1)
    np.testing.assert_array_equal(catalog.load(str(folder)).trace("the cat sat").encoder.layer_weights(1), want)


def test_weights_under_names_that_fit_nothing_are_named(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    renamed = {name.replace("attention", "attn"): value.clone() for name, value in weights.items()}
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    sentence = refusal(folder, ModelError)
    assert "encoder.layer.0.attention" in sentence
    assert "have others, such as encoder.layer.0.attn" in sentence


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_weights_of_one_variant_are_read(dtype: str, folder: Path, saved: Path) -> None:
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[dtype]
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    save_file(
        {name: value.to(kind) for name, value in weights.items()}, folder / f"model.{dtype}.safetensors", {"format": "pt"}
    )
    want = catalog.load(str(saved)).trace("the cat sat").encoder.layer_weights(1)
    got = catalog.load(str(folder)).trace("the cat sat").encoder.layer_weights(1)
    # Two layers of three units of rounding each: those of the type that the weights were saved in.
    np.testing.assert_allclose(got, want, atol=6 * torch.finfo(kind).eps)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("consolidated.safetensors", "has its weights in consolidated.safetensors"),
        ("tf_model.h5", "has weights for TensorFlow only"),
        ("flax_model.msgpack", "has weights for Flax only"),
        ("model.onnx", "has weights for ONNX only"),
    ],
)
def test_weights_that_cannot_be_read_are_named(name: str, words: str, folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / name)
    assert words in refusal(folder, ModelNotFoundError)


@pytest.mark.parametrize("below", ["checkpoint-500", "snapshots/0123456789abcdef", "final"])
def test_a_folder_that_holds_the_folder_of_a_model_names_it(below: str, folder: Path) -> None:
    whole = folder / below
    whole.mkdir(parents=True)
    for path in [path for path in folder.iterdir() if path.is_file()]:
        path.rename(whole / path.name)
    assert f"name {whole}." in refusal(folder, ModelNotFoundError)
    if below == "checkpoint-500":
        shutil.copytree(whole, folder / "checkpoint-1000")
        assert f"name {folder / 'checkpoint-1000'}, the latest of 2 in it." in refusal(folder, ModelNotFoundError)


def test_a_file_of_a_model_names_its_folder(folder: Path) -> None:
    for file in ("config.json", "model.safetensors"):
        assert f"name its folder, {folder}." in refusal(folder / file, ModelNotFoundError)


def test_a_tokenizer_that_needs_a_missing_package_names_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_package(*arguments: Any, **options: Any) -> None:
        raise ModuleNotFoundError("You need to install fugashi to use MecabTokenizer. See https://pypi.org/project/fugashi/.")

    monkeypatch.setattr(checkpoint.AutoTokenizer, "from_pretrained", needs_package)
    assert "pip install fugashi" in refusal(folder, UnsupportedModelError)


def test_a_folder_without_a_tokenizer_says_what_to_put_there(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    assert "put tokenizer.json" in refusal(folder, UnsupportedModelError)


def test_a_lora_adapter_is_added_to_the_weights_of_its_model(saved: Path, tmp_path: Path) -> None:
    """W + (alpha / r) B A, Hu et al. 2021, section 4.1, by hand."""
    rank, alpha, target = 2, 3, "encoder.layer.1.attention.self.query"
    weights = load_file(saved / "model.safetensors")
    width = weights[f"{target}.weight"].shape[0]
    a, b = torch.randn(rank, width), torch.randn(width, rank)
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": str(saved),
        "r": rank,
        "lora_alpha": alpha,
        "target_modules": [target],
    }
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    parts = {f"base_model.model.{target}.lora_A.weight": a, f"base_model.model.{target}.lora_B.weight": b}
    save_file(parts, adapter / "adapter_model.safetensors")
    merged = Path(shutil.copytree(saved, tmp_path / "merged"))
    save_file(weights | {f"{target}.weight": weights[f"{target}.weight"] + alpha / rank * b @ a}, merged / "model.safetensors",
              {"format": "pt"})  # fmt: skip
    got, want = (catalog.load(str(path)).trace("the cat sat").encoder.layer_weights(1) for path in (adapter, merged))
    np.testing.assert_allclose(got, want, atol=1e-5)
    assert np.abs(catalog.load(str(saved)).trace("the cat sat").encoder.layer_weights(1) - got).max() > 0.01
    assert "changed by a LoRA adapter" in catalog.load(str(adapter)).card.weights


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base_model_name_or_path": "owner/gone"}, "is a LoRA adapter of owner/gone, which is needed with it"),
        ({"peft_type": "PREFIX_TUNING"}, "only LoRA adapters"),
    ],
)
def test_an_adapter_that_cannot_be_read_says_of_what_it_is(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    config = {"peft_type": "LORA", "base_model_name_or_path": "owner/model", "r": 2} | changes
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=words):
        catalog.load(str(tmp_path))


def test_a_pooler_may_be_missing_since_no_attention_depends_on_it(folder: Path) -> None:
    hf.BertForMaskedLM(hf.AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    assert catalog.load(str(folder)).trace("the cat").encoder.n_layers == 2


PIXELS = {"image_size": 8, "patch_size": 4}
BERT = {"vocab_size": 97, "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7}
FUNNEL = {"vocab_size": 97, "block_sizes": [1, 1], "d_model": 12, "n_head": 3, "d_head": 4, "d_inner": 7}
GPTJ = {"vocab_size": 97, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_positions": 61}
FLAVA = {name: BERT | {"num_hidden_layers": 1} for name in ("text_config", "image_config", "multimodal_config")}
CANINE = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 7,
          "local_transformer_stride": 4, "num_hash_buckets": 32, "num_hash_functions": 3, "downsampling_rate": 4}  # fmt: skip
LONG_T5: dict[str, Any] = {"vocab_size": 97, "d_model": 12, "d_kv": 4, "d_ff": 7, "num_layers": 2, "num_heads": 3,
                           "decoder_start_token_id": 0}  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        lambda: hf.MambaModel(hf.MambaConfig(vocab_size=97, hidden_size=12, state_size=5, num_hidden_layers=2)),
        lambda: hf.RwkvModel(hf.RwkvConfig(vocab_size=97, hidden_size=12, attention_hidden_size=12, num_hidden_layers=2)),
    ],
    ids=["mamba", "rwkv"],
)
def test_a_model_without_attention_weights(folder: Path, model: Any) -> None:
    model().save_pretrained(folder)
    tiny.tokenizer(tiny.DECODER).save_pretrained(folder)
    assert "no attention that can be shown" in refusal(folder, UnsupportedModelError)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: hf.CLIPModel(hf.CLIPConfig(text_config=SIZES, vision_config=SIZES | PIXELS)), "but with images beside it"),
        (lambda: hf.BrosModel(hf.BrosConfig(**BERT)), "but with the places of its words on a page beside it"),
        (lambda: hf.FunnelModel(hf.FunnelConfig(**FUNNEL)), "Every layer must have the same shape"),
        (lambda: hf.GPTJModel(hf.GPTJConfig(**GPTJ | {"rotary_dim": 64})), "This gptj model cannot read a short text"),
        (lambda: hf.LongT5Model(hf.LongT5Config(**LONG_T5)), "attends in blocks"),
        (lambda: hf.FlavaModel(hf.FlavaConfig(**FLAVA)), "give no attention of a text alone: they read images, too"),
        (lambda: hf.CanineModel(hf.CanineConfig(**CANINE)), "Every layer must have the same shape"),
    ],
    ids=["pixels", "boxes", "shapes", "broken", "blocks", "nested", "characters"],
)
def test_why_a_model_cannot_be_read_is_said(folder: Path, model: Any, words: str) -> None:
    model().save_pretrained(folder)
    tiny.tokenizer(tiny.DECODER).save_pretrained(folder)
    assert words in refusal(folder, UnsupportedModelError)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert f"holds {name}, which is no file" in refusal(folder, ModelNotFoundError)


def test_too_large_a_model_is_refused_with_both_figures_before_its_weights_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = checkpoint.count_parameters(hf.AutoModel, hf.AutoConfig.from_pretrained(folder))
    (folder / "model.safetensors").write_bytes(b"not even read")
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", str(count - 1))
    sentence = refusal(folder, ModelTooLargeError)
    assert f"{count:,}" in sentence
    assert f"{count - 1:,}" in sentence
    monkeypatch.setenv("ATTNVIZ_MAX_PARAMETERS", str(count))
    assert "damaged" in refusal(folder, ModelError)


def test_counting_parameters_makes_no_room_for_them() -> None:
    config = hf.LlamaConfig(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64)
    assert checkpoint.count_parameters(hf.AutoModel, config) > 60e9
    with pytest.raises(ModelTooLargeError, match=r"billion parameters and this machine loads at most 1.5 billion"):
        checkpoint.check_size("llama", checkpoint.count_parameters(hf.AutoModel, config))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "cannot be the name of a model"),
        ("no spaces", "cannot be the name of a model"),
        ("a..b", "cannot be the name of a model"),
        ("x\x00", "cannot be the name of a model"),
        ("a/b/c", "There is no folder a/b/c"),
        ("models/bert/finetuned", "There is no folder models/bert/finetuned"),
        ("owner/na--me", "no model of the hub has such a name"),
        ("https://huggingface.co/gpt2", "gpt2 is not on this machine"),
        ("https://huggingface.co/owner/model/tree/step3000", "owner/model is not on this machine"),
        ("https://example.com/model", "is no address of a model"),
        ("owner/model:step3000", "write owner/model@step3000"),
    ],
)
def test_a_name_that_names_nothing_here_is_told_why(name: str, words: str) -> None:
    assert words in refusal(name, ModelNotFoundError)


def test_a_wrong_name_gets_the_nearest_right_ones() -> None:
    assert refusal("mini-lm", ModelNotFoundError).endswith("Did you mean minilm?")
    assert refusal("Bahdanau", ModelNotFoundError).endswith("Did you mean bahdanau-en-fr or bahdanau-en-de?")
    assert refusal("someone/all-MiniLM-L6-v2", ModelNotFoundError).endswith("Did you mean minilm?")
    assert "bert-base-uncased" in refusal("bert-base-uncase", ModelNotFoundError)
    assert "Did you mean" not in refusal("nobody/knows-this", ModelNotFoundError)


def test_without_a_network_the_sentence_names_what_works() -> None:
    sentence = refusal("bert-base-uncased", ModelNotFoundError)
    assert "cannot be reached" in sentence
    # The page that asks may be one of a task that this model cannot do.
    assert "choose a model that comes with attnviz" in sentence
    assert "minilm" not in sentence


def test_a_hub_that_does_not_answer_is_asked_once_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def no_route(request: Any, timeout: float) -> None:
        asked.append(timeout)
        raise OSError("no route to host")

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(download, "urlopen", no_route)
    monkeypatch.setattr(download, "hf_hub_download", lambda *_, **__: pytest.fail("the hub was asked for a file"))
    assert "cannot be reached" in refusal("bert-base-uncased", ModelNotFoundError)
    assert asked == [5]


@pytest.mark.parametrize("address", ["junk", "http://two words"])
def test_an_endpoint_that_is_no_address_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(download.constants, "ENDPOINT", address)
    assert f"that HF_ENDPOINT names, {address}, cannot be reached" in refusal("bert-base-uncased", ModelNotFoundError)


@pytest.mark.parametrize("status", [403, 503])
def test_a_hub_that_refuses_is_there(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    def refuse(request: Any, timeout: float) -> None:
        raise urllib.error.HTTPError("address", status, "no", None, None)

    def gone(*arguments: Any, **options: Any) -> None:
        raise answer(404, huggingface_hub.errors.RepositoryNotFoundError)

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(download, "urlopen", refuse)
    monkeypatch.setattr(download, "hf_hub_download", gone)
    assert "private" in refusal("owner/model", ModelNotFoundError)


def answer(status: int, kind: Any) -> Exception:
    response = SimpleNamespace(status_code=status, headers={}, request=None)
    return kind("many\nlines", response=response)


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (lambda: answer(401, huggingface_hub.errors.GatedRepoError), ModelError, "gated"),
        (lambda: answer(404, huggingface_hub.errors.RepositoryNotFoundError), ModelNotFoundError, "private"),
        (lambda: answer(404, huggingface_hub.errors.RemoteEntryNotFoundError), ModelNotFoundError, "config.json"),
        (lambda: answer(404, huggingface_hub.errors.RevisionNotFoundError), ModelNotFoundError, "revision"),
        (lambda: answer(503, huggingface_hub.errors.HfHubHTTPError), ModelError, "broke off"),
        (lambda: OSError(28, "No space left on device"), ModelError, "disk space"),
        (lambda: huggingface_hub.utils.httpx.ReadError("connection reset by peer"), ModelError, "broke off"),
        (lambda: huggingface_hub.errors.XetDownloadError("no such chunk"), ModelError, "broke off"),
    ],
)
def test_what_the_hub_may_answer(monkeypatch: pytest.MonkeyPatch, error: Any, kind: Any, words: str) -> None:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise error()

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(download, "urlopen", lambda *_, **__: None)
    monkeypatch.setattr(download, "hf_hub_download", refuse)
    assert words in refusal("owner/model", kind)


@pytest.mark.gate
def test_models_are_loaded_at_the_same_time(tmp_path: Path) -> None:
    # What makes a model sets what holds for all threads: tied tensors of one were missing where another was made.
    tiny.FAMILY["bart"].save(tmp_path)
    begin = threading.Barrier(4)

    def load(_: int) -> set[int]:
        begin.wait()
        return {hub.load(str(tmp_path)).card.n_layers for _ in range(3)}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(load, range(4))) == [{hub.load(str(tmp_path)).card.n_layers}] * 4


@pytest.mark.parametrize("name", tiny.first_now(["bert", "gpt2", "t5"], 2))
def test_a_long_text_is_cut_where_the_trace_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "13")
    tiny.FAMILY[name].save(tmp_path)
    model = hub.load(str(tmp_path))
    text = "the cat sat on the mat " * 1000
    trace = model.trace(Prompt(text, target="the dog" if name == "t5" else None))
    attention = trace.maps[0]
    assert len(attention.queries) == 13
    assert trace.cut == max(token.end for token in attention.queries)
    assert model.trace("the cat").cut is None


def test_a_target_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "13")
    tiny.FAMILY["t5"].save(tmp_path)
    with pytest.raises(PromptError, match="writes at most 13 tokens"):
        hub.load(str(tmp_path)).trace(Prompt("the cat sat", target="the dog " * 7))


def test_positions_that_start_late_leave_fewer_tokens(tmp_path: Path) -> None:
    tiny.FAMILY["roberta"].save(tmp_path)
    model = hub.load(str(tmp_path))
    assert model.card.max_tokens == 61 - 2
    assert len(model.trace("the cat " * 60).encoder.queries) == 59


def test_a_pair_is_read_by_models_that_read_pairs(folder: Path, tmp_path: Path) -> None:
    pair = Prompt("the cat sat", pair="the dog ran too")
    tokens = hub.load(str(folder)).trace(pair).encoder.queries
    assert [token.segment for token in tokens if not token.special] == [0, 0, 0, 1, 1, 1, 1]
    long = hub.load(str(folder)).trace(Prompt("the cat " * 60, pair="the dog " * 60))
    firsts, seconds = ([token for token in long.encoder.queries if token.segment == segment] for segment in (0, 1))
    assert (long.cut, long.cut_pair) == (max(token.end for token in firsts), max(token.end for token in seconds))
    tiny.FAMILY["gpt2"].save(tmp_path / "gpt2")
    decoder = hub.load(str(tmp_path / "gpt2"))
    assert decoder.card.reads == ()
    assert len(decoder.trace(pair).decoder.queries) == 3


def test_a_decoder_that_finds_nothing_to_read_says_so(tmp_path: Path) -> None:
    tiny.FAMILY["gpt2"].save(tmp_path)
    with pytest.raises(PromptError, match="nothing to read"):
        hub.load(str(tmp_path)).trace("\u200b")


def test_a_given_target_is_the_output(tmp_path: Path) -> None:
    tiny.FAMILY["t5"].save(tmp_path)
    trace = hub.load(str(tmp_path)).trace(Prompt("the cat sat", target="a dog ran"))
    assert trace.output == "a dog ran"
    assert [token.text for token in trace.decoder.queries] == ["[PAD]", "a", "dog", "ran"]
    assert trace.decoder.queries[0].special


@pytest.mark.gate
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_model_computes_in_the_type_that_is_set(
    name: str, dtype: torch.dtype, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.FAMILY[name].save(tmp_path)
    text, kind = "the cat sat on the mat because it was tired", tiny.FAMILY[name].architecture
    exact = catalog.load(str(tmp_path))
    monkeypatch.setenv("ATTNVIZ_DTYPE", str(dtype).removeprefix("torch."))
    rounded = catalog.load(str(tmp_path))
    assert {each.dtype for each in rounded.model.parameters()} == {dtype}
    assert rounded.card.weights == f"{dtype}".removeprefix("torch.") + " weights, safetensors"
    assert exact.card.weights == "safetensors"
    # Each of a layer's eight roundings moves a share of a row's weight, and those of layers add up as a random walk.
    allowed = 8 * 2**0.5 * rounding_of(dtype)
    for quantity in ("weights", "norms", "mixing"):
        got, want = (run(model, "encode", text, quantity=quantity).trace.map(kind) for model in (rounded, exact))
        for layer in range(2):
            moved = np.abs(got.layer_weights(layer) - want.layer_weights(layer)).sum(axis=-1).mean() / 2
            assert 0 < moved < allowed
    bound, exactly = (bind_target(model, Prompt(text, pair="the dog ran")) for model in (rounded, exact))
    zeroed, want = (METHODS["value-zeroing"].compute(each).values for each in (bound, exactly))
    assert np.corrcoef(zeroed, want)[0, 1] > 0.98


def test_a_card_keeps_the_type_that_weights_are_stored_in(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = (torch.bfloat16, torch.float16, torch.float32, torch.float64, None)
    assert {device.choose_dtype(each) for each in stored} == {torch.float32}
    monkeypatch.setattr(device, "choose", lambda: torch.device("cuda:0"))
    assert [device.choose_dtype(each) for each in stored] == [torch.bfloat16, torch.float16, *[torch.float32] * 3]


def test_how_large_a_model_may_be_counts_the_bytes_of_its_type(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n_bytes = 3 * sum(parameter.numel() for parameter in tiny.FAMILY["bert"].model().parameters())
    monkeypatch.setattr(device, "max_parameters", lambda each=4: n_bytes // each)
    refusal(folder, ModelTooLargeError)
    monkeypatch.setenv("ATTNVIZ_DTYPE", "bfloat16")
    assert catalog.load(str(folder)).card.n_heads == 3


def test_an_archive_of_a_model_is_to_be_unpacked(tmp_path: Path) -> None:
    for name in ("model.zip", "model.tar.gz"):
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(ModelNotFoundError, match="is an archive: unpack it"):
            hub.load(str(tmp_path / name))
