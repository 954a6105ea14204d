"""Tiny random models of every architecture that the installed transformers registers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import transformers as hf
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests import tiny

MOST_PARAMETERS = 3_000_000
REGISTRIES = {
    "text": modeling_auto.MODEL_MAPPING_NAMES,
    "question answering": modeling_auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,
    "next token": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "writing": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "classification": modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,
}
# A small number for each number of a config whose name matches, the first pattern that does; the others stay as they are.
_SMALL: tuple[tuple[str, int], ...] = (
    (r"kv_shared_layers", 0),
    (r"hash_buckets$|relative_attention_num_buckets", 32),
    (r"type_vocab_size", 2),
    (r"(^|_)vocab_size(_per_layer_input)?$|^vocabulary_size$|^n_vocab$", tiny.VOCABULARY),
    (r"vocab_size", 11),
    (r"_token_ids?$|_token_index$", 5),
    (r"rope_head_dim|nope_head_dim|v_head_dim|rotary_dim|^coordinate_size$|^shape_size$", 4),
    (r"head_?dim|d_head$|d_kv|kv_channels|attention_head_size|^key_dim$|ssm_state|state_size|d_state", 8),
    (r"key_value_heads|num_kv_heads|kv_heads|multi_query_group_num|num_query_groups|num_global_key_value", 1),
    (r"mamba_num_heads|mamba_n_heads|ssm_num_heads|linear_num_(key|value)_heads|num_v_heads|n_mamba_heads", 6),
    (r"(^|_)(n_)?heads?$|num_.*heads$|_n_head$|^index_n_heads$", 3),
    (r"layers?$|num_blocks$|num_hidden_groups|depth$|^n_layer", 2),
    (r"ffn|intermediate|d_ff|inner|feedforward|mlp_dim|hidden_dim$", 28),
    (r"lora_rank", 8),
    (r"n_group|topk_group|num_expert_group|moe_k$", 1),
    (r"experts_per_tok|top_?k|num_experts_per|n_activated", 2),
    (r"experts", 4),
    (r"max.*position|n_positions|n_ctx|max_seq_len|max_target|max_source|seq_length|max_length", 64),
    (
        r"hidden_size|d_model|n_embd|^dim$|emb(ed)?(ding)?_(dim|size)|embed_proj_dim|width|projection_dim|d_embed|lru|bottleneck",
        24,
    ),
    (r"sliding_window|window_size|attention_window|chunk_size$|local_attention", 4),
    (r"buckets$|relative_(max|num)", 7),
    (r"conv_kernel|kernel_size|d_conv|conv_L_cache", 3),
)
# What small numbers alone do not give: numbers that must fit each other.
_THREE = {"num_hidden_layers": 3}
_FITTING: dict[str, dict[str, Any]] = {
    "bamba": {**_THREE, "attn_layer_indices": [1]},
    "codegen": {"n_head": 4, "n_embd": 32},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "deepseek_v4": {"num_attention_heads": 4, "o_groups": 2},
    "diffllama": {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "hidden_size": 32},
    "esm": {"vocab_size": tiny.VOCABULARY, "pad_token_id": 1, "mask_token_id": 4},
    "esmc": {"vocab_size": tiny.VOCABULARY},
    "granitemoehybrid": {**_THREE, "layer_types": ["mamba", "attention", "mamba"]},
    "jamba": {**_THREE, "attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {**_THREE, "layer_types": ["conv", "full_attention", "conv"]},
    "mimo_v2_flash": {"num_attention_heads": 4, "num_key_value_heads": 1},
    "nemotron": {"head_dim": 8},
    "recurrent_gemma": _THREE,
    "reformer": {"axial_pos_embds_dim": [8, 16], "axial_pos_shape": [8, 8]},
    "xmod": {"default_language": "en_XX"},
    "zamba": {**_THREE, "layer_types": ["linear_attention", "hybrid", "linear_attention"]},
}


@dataclass(frozen=True)
class Architecture:
    """One architecture of a registry: its `model_type` and the class that is built."""

    registry: str
    model_type: str
    class_name: str

    @property
    def shape(self) -> str:
        """What its tokenizer is to be like."""
        if CONFIG_MAPPING[self.model_type]().is_encoder_decoder:
            return tiny.SEQ2SEQ
        writes = self.model_type in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        masks = self.model_type in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
        return tiny.DECODER if writes and not masks else tiny.ENCODER


def architectures(registry: str) -> Iterator[Architecture]:
    """List the architectures of a registry."""
    for model_type, names in REGISTRIES[registry].items():
        for name in (names,) if isinstance(names, str) else names[:1]:
            yield Architecture(registry, model_type, name)


def build(architecture: Architecture) -> Any:
    """Make a tiny random model, whose attention is far from uniform, under its own eager attention.

    Raises:
        Exception: it cannot be made so; whatever transformers raises.
    """
    config = small(CONFIG_MAPPING[architecture.model_type])
    kind = getattr(hf, architecture.class_name)
    config._attn_implementation = "eager"
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in kind(config).parameters())
    if size > MOST_PARAMETERS:
        raise MemoryError(f"{size:,} parameters")
    torch.manual_seed(len(architecture.model_type))
    model = kind._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.dim() == 2:
                parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5)
    return model


def small(kind: Any) -> Any:
    """Make a config of that class with small numbers, and of each kind of layer one or two."""
    usual = kind()
    given = _given(usual)
    for name, sub in (getattr(kind, "sub_configs", None) or {}).items():
        own = getattr(usual, name, None)
        if own is not None:
            given[name] = small(type(own)) if sub is hf.AutoConfig else small(sub)
    return kind(**(given | _FITTING.get(kind.model_type, {})))


def _given(usual: Any) -> dict[str, Any]:
    """Choose a small value for each number and list of a config."""
    known: dict[str, Any] = {name: value for name, value in vars(usual).items() if not name.startswith("_")}
    given = _fixed(usual, known)
    n_layers = {value for name, value in known.items() if _is_number(value) and re.search(r"layers?$|^n_layer|depth$", name)}
    lists = {name: value for name, value in known.items() if isinstance(value, list) and len(value) in n_layers}
    kinds = [list(dict.fromkeys(value)) for value in lists.values() if all(isinstance(each, str) for each in value)]
    depth = max([2, *(len(each) + 1 for each in kinds if len(each) > 1)])
    for name, value in known.items():
        if name in given:
            continue
        if name in lists:
            order = list(dict.fromkeys(value)) if all(isinstance(each, str) for each in value) else value
            given[name] = [order[place % len(order)] for place in range(depth)]
        elif _is_number(value):
            fit = next((number for pattern, number in _SMALL if re.search(pattern, name)), value)
            given[name] = depth if fit == 2 and value in n_layers else min(fit, value) if value > 0 else value
    return given


def _fixed(usual: Any, known: dict[str, Any]) -> dict[str, Any]:
    """Choose what must fit other numbers of the config, or stand where there is nothing."""
    heads = {value for name, value in known.items() if re.search("attention_heads$|^n_heads?$", name)}
    given: dict[str, Any] = {name: 3 for name in known if re.search("key_value_heads|kv_heads", name) and known[name] in heads}
    if "type_vocab_size" in known:
        given["type_vocab_size"] = 2
    if "head_dim" in known:
        given["head_dim"] = 4 if "qk_rope_head_dim" in known else 8
    if isinstance(rope := known.get("rope_parameters"), dict) and ("mrope_section" in rope or "_vl" in usual.model_type):
        given["rope_parameters"] = {**rope, "mrope_section": [2, 1, 1], "partial_rotary_factor": 1.0}
    if usual.is_encoder_decoder:
        given["eos_token_id"] = 3
        if not _is_number(known.get("decoder_start_token_id")):
            given["decoder_start_token_id"] = 2
    return given


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
