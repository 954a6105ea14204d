"""Folders that are crafted, damaged or from another world: one sentence each, soon, and without room being made for them."""

import base64
import json
import resource
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file

from attnviz.core.errors import AttnvizError, ModelError, ModelTooLargeError, UnsupportedModelError, failing_as
from attnviz.core.trace import Prompt
from attnviz.models import catalog
from attnviz.models.hub import checkpoint
from tests import tiny

TEXT = "the cat sat on the mat"
Change = dict[str, Any] | Callable[[dict[str, Any]], object]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    # A random model that writes never comes to an end by itself.
    monkeypatch.setenv("ATTNVIZ_MAX_TOKENS", "47")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    for name in ("albert", "bart", "bert", "gpt2", "marian"):
        tiny.FAMILY[name].save(folder / name)
    return folder


def crafted(saved: Path, to: Path, family: str, file: str, change: Change) -> Path:
    """A good model folder with other values in one of its files."""
    folder = Path(shutil.copytree(saved / family, to / family))
    path = folder / file
    content = json.loads(path.read_text()) if path.is_file() else {}
    change(content) if callable(change) else content.update(change)
    path.write_text(json.dumps(content))
    return folder


def refusal(folder: Path, text: str = TEXT) -> AttnvizError:
    """What is said of it, at the latest when it reads a text: one sentence."""
    with pytest.raises(AttnvizError) as caught:
        catalog.load(str(folder)).trace(text)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 320
    return caught.value


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [
        ("bert", "num_labels", 10_000_000),
        ("bert", "num_hidden_layers", 1_000_000),
        ("bert", "num_hidden_layers", 10**400),
        ("bert", "num_attention_heads", 10**9),
        ("bert", "max_position_embeddings", 10**12),
        ("gpt2", "n_layer", 1_000_000),
        ("bart", "decoder_layers", 1_000_000),
        ("marian", "max_position_embeddings", 1_000_000),
        ("albert", "inner_group_num", 1_000_000),
    ],
)
def test_a_number_that_is_too_large_is_refused_before_transformers_sees_it(
    family: str, key: str, value: int, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crafted(saved, tmp_path, family, "config.json", {key: value})
    monkeypatch.setattr(checkpoint.AutoConfig, "from_pretrained", lambda *_, **__: pytest.fail("it was read"))
    assert type(refusal(folder)) is ModelTooLargeError


@pytest.mark.parametrize("given", tiny.first_now([[None, "MarianMTModel"], [7], "MarianMTModel", {"x": 1}], 1))
def test_a_name_of_a_class_that_is_none_names_no_class(given: Any, saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "marian", "config.json", {"architectures": given})
    # What transformers itself refuses gets its sentence.
    with suppress(AttnvizError):
        assert catalog.load(str(folder)).trace(TEXT).maps


def test_every_configuration_of_transformers_is_small_enough(tmp_path: Path) -> None:
    for kind in {type(family.config()) for family in tiny.FAMILIES}:
        path = tmp_path / "config.json"
        kind().to_json_file(path)
        assert checkpoint.read_config(kind.__name__, path)


def test_layers_times_experts_are_counted_while_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny.FAMILY["bert"].config()
    monkeypatch.setattr(checkpoint, "MOST_TENSORS", 20)
    with pytest.raises(ModelTooLargeError, match="more than 20 tensors"):
        checkpoint.count_parameters(hf.AutoModel, config)


def test_a_fixed_table_counts_as_parameters_do() -> None:
    config = hf.CTRLConfig(n_positions=10_000, n_embd=11, dff=7, n_layer=2, n_head=1, vocab_size=13)
    assert checkpoint.count_parameters(hf.AutoModel, config) >= 110_000


def test_no_room_is_made_for_a_model_that_is_far_larger_than_its_files(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = crafted(saved, tmp_path, "bert", "config.json", {"max_position_embeddings": 10_000_000})
    monkeypatch.setattr(hf.BertModel, "from_pretrained", lambda *_, **__: pytest.fail("room was made"))
    assert "another model's" in str(refusal(folder))


def test_a_long_or_deep_configuration(saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "bert", "config.json", {"pad": "x" * checkpoint.CONFIG_BYTES})
    assert "damaged" in str(refusal(folder))
    (folder / "config.json").write_text("[" * 100_000)
    assert "damaged" in str(refusal(folder))
    (folder / "config.json").write_text("[1, 2]")
    assert "damaged" in str(refusal(folder))


def test_a_quantization_that_is_no_longer_there_is_none(saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "bert", "config.json", {"quantization_config": None})
    assert catalog.load(str(folder)).card.n_layers == 2


def split_by(expression: str) -> Change:
    return {
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": expression},
            "behavior": "Isolated",
            "invert": False,
        }
    }


def without_unknown(tokenizer: dict[str, Any]) -> None:
    del tokenizer["model"]["vocab"]["[UNK]"]


def with_a_high_piece(tokenizer: dict[str, Any]) -> None:
    tokenizer["model"]["vocab"]["cat"] = 5000


@pytest.mark.parametrize("family", ["bert", "gpt2", "bart"])
def test_an_expression_that_takes_for_ever_is_one_sentence_and_the_next_text_is_read(
    family: str, saved: Path, tmp_path: Path
) -> None:
    folder = crafted(saved, tmp_path, family, "tokenizer.json", split_by("(a|aa)+$| "))
    model = catalog.load(str(folder))
    begun = time.process_time()
    with pytest.raises(ModelError, match=r"The tokenizer of .* fails at this text"):
        model.trace(Prompt("a" * 40 + "!", target="the dog" if family == "bart" else None))
    assert time.process_time() - begun < 10
    assert model.trace(Prompt(TEXT, target="the dog" if family == "bart" else None)).maps


@pytest.mark.gate
def test_what_authors_saved_for_generation_does_not_change_what_is_read(saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "bart", "generation_config.json", {"return_dict_in_generate": True})
    assert catalog.load(str(folder)).trace("the cat").output == catalog.load(str(saved / "bart")).trace("the cat").output


def test_a_load_shows_no_bar_and_leaves_those_of_the_user(
    saved: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.utils.logging._tqdm_active", True)
    catalog.load(str(saved / "bert"))
    assert "Loading weights" not in capfd.readouterr().err
    hf.AutoModel.from_pretrained(saved / "bert")
    assert "Loading weights" in capfd.readouterr().err


def test_weights_in_a_file_of_another_name_are_none(saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved / "bert", tmp_path / "bert"))
    (folder / "model.safetensors").rename(folder / "adapter.safetensors")
    assert load_file(folder / "adapter.safetensors")
    assert "has its weights in adapter.safetensors" in str(refusal(folder))


class Allocating:
    def __reduce__(self) -> tuple[type, tuple[int]]:
        return bytearray, (307,)


@pytest.mark.parametrize("is_zip", [True, False])
def test_a_pickle_that_holds_more_than_tensors_is_refused_before_it_is_read(is_zip: bool, saved: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(saved / "bert", tmp_path / "bert"))
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    torch.save(weights, path, _use_new_zipfile_serialization=is_zip)
    assert catalog.load(str(folder)).trace("the cat").encoder.n_layers
    torch.save({**weights, "more": Allocating()}, path, _use_new_zipfile_serialization=is_zip)
    assert "damaged" in str(refusal(folder))


def test_a_pickle_that_is_compressed_is_refused(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "pytorch_model.bin"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("archive/data/0", bytes(3 * 2**20))
    with pytest.raises(ValueError, match="compressed"):
        checkpoint.check_pickle(path)


def test_no_configuration_chooses_how_attention_is_computed(saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "bert", "config.json", {"attn_implementation": "nobody/kernel"})
    assert checkpoint.Checkpoint("bert", folder).config()._attn_implementation == "eager"
    folder = crafted(saved, tmp_path / "2", "bert", "config.json", {"_attn_implementation": "sdpa"})
    assert checkpoint.Checkpoint("bert", folder).config()._attn_implementation == "eager"


@pytest.mark.parametrize("name", ["a" * 256, "~nobody-of-that-name/x", "/" + "a/" * 3000, "a\x00b", "a" * 256 + ".safetensors"])
def test_a_name_that_no_path_can_have(name: str) -> None:
    with pytest.raises(ModelError):
        catalog.load(name)


def test_memory_that_runs_out_is_told_as_such_and_what_is_ours_passes() -> None:
    with pytest.raises(MemoryError, match="more memory than there is"), failing_as(ModelError, "Damaged."):
        raise RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes")
    with pytest.raises(UnsupportedModelError), failing_as(ModelError, "Damaged."):
        raise UnsupportedModelError("Unknown.")
    with pytest.raises(KeyboardInterrupt), failing_as(ModelError, "Damaged."):
        raise KeyboardInterrupt


def steps(*each: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(each)}


TENFOLD = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
BETWEEN = {"type": "Replace", "pattern": {"Regex": "(?=a)"}, "content": "aaaaaaaaa"}
TWICE = {"single": [{"Sequence": {"id": "A", "type_id": 0}}] * 101, "pair": [], "special_tokens": {}}
CHARSMAP = base64.b64encode((0).to_bytes(4, "little") + b"a" * 101 + b"\0").decode()


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": steps(*[TENFOLD] * 6)},
        {"normalizer": steps(steps(BETWEEN, BETWEEN), {"type": "Lowercase"}, TENFOLD)},
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": False}] * 4}},
        {"post_processor": {"type": "TemplateProcessing", **TWICE}},
        {"decoder": {"type": "Sequence", "decoders": [TENFOLD] * 3}},
    ],
)
def test_a_tokenizer_that_multiplies_texts_is_refused_before_it_reads_one(
    change: dict[str, Any], saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint.AutoTokenizer, "from_pretrained", lambda *_, **__: pytest.fail("it was loaded"))
    refused = refusal(crafted(saved, tmp_path, "bert", "tokenizer.json", change))
    assert "makes more than 100 characters of one" in str(refused)


def test_the_longest_text_that_a_tokenizer_may_make_takes_bounded_memory(saved: Path, tmp_path: Path) -> None:
    folder = crafted(saved, tmp_path, "bert", "tokenizer.json", {"normalizer": steps(TENFOLD, TENFOLD)})
    catalog.load(str(saved / "bert")).trace(TEXT)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    catalog.load(str(folder)).trace(f"the cat {'a' * 20}")
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (2**20 if sys.platform == "darwin" else 2**10)
    # A hundred characters of one, each with the two places that it came from, are kilobytes; six such steps took 660 MB.
    assert megabytes < 100


@pytest.mark.parametrize(
    ("step", "grown"),
    [
        ({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\N{LOWER ONE EIGHTH BLOCK}"}, 1),
        ({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, 1),
        ({"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, 1),
        ({"type": "Replace", "pattern": {"Regex": " *"}, "content": "_"}, 2),
        ({"type": "NFKC"}, 1),
        (None, 1),
    ],
)
def test_what_known_tokenizers_do_is_no_growth(step: dict[str, Any] | None, grown: float) -> None:
    assert checkpoint._growth(step) == grown


UNENDING = "(([A-Za-z ]|[A-Za-z ][A-Za-z ])+)+$"


def test_a_tokenizer_whose_pieces_are_bytes_needs_no_file_of_them(tmp_path: Path) -> None:
    config = hf.BertConfig(**{**tiny.FAMILY["bert"].config().to_dict(), "vocab_size": 384})
    hf.BertModel(config).save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModelError, match="no tokenizer"):
        catalog.load(tmp_path)
    hf.ByT5Tokenizer().save_pretrained(tmp_path)
    assert [token.text for token in catalog.load(tmp_path).trace(Prompt("cat")).encoder.queries] == ["c", "a", "t", "</s>"]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", {"text_config": {"stacks": [{"num_layers": 10**6}]}}, "num_layers"),
        ("config.json", {"num_attention_heads": 0}, "contradicts itself"),
        ("config.json", {"hidden_size": 16}, "contradicts itself"),
        ("config.json", {"hidden_act": "nothing"}, "contradicts itself"),
        ("config.json", {"pad_token_id": 5000}, "piece number 5000 as its pad_token_id, and the model has 97 pieces only"),
        ("config.json", {"num_hidden_layers": 0}, "no attention that can be shown"),
        ("config.json", {"quantization_config": {"quant_method": "gptq", "bits": 4}}, "is quantized"),
        ("config.json", {"vocab_size": 20}, "other sizes than its config.json says"),
        ("tokenizer_config.json", {"model_max_length": "512"}, "model_max_length is"),
        ("tokenizer_config.json", {"model_max_length": [512]}, "model_max_length is"),
        ("tokenizer.json", split_by(UNENDING), "do not fit together"),
        ("tokenizer.json", {"pre_tokenizer": {"type": "OtherTokenizer"}}, "cannot be read"),
        ("tokenizer.json", without_unknown, "fails at this text"),
        ("tokenizer.json", with_a_high_piece, "piece number 5000, and the model has 97 pieces"),
        ("generation_config.json", {"decoder_start_token_id": 10**6}, "piece number 1000000 as its decoder_start_token_id"),
    ],
)
def test_a_folder_that_contradicts_itself(file: str, change: Change, words: str, saved: Path, tmp_path: Path) -> None:
    family = "bart" if file == "generation_config.json" else "bert"
    assert words in str(refusal(crafted(saved, tmp_path, family, file, change), "日本 cat sat"))
