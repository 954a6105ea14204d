"""Answerers with random weights: ours, as `python -m recipes` saves them, and those of the hub's kind."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import AutoModelForQuestionAnswering

from attnviz.models.shipped_answerer import configuration
from attnviz.models.span_decoding import SpanDecoding
from attnviz.nn.encoder import Answerer, AnswererConfig, BlockConfig
from tests.tiny import FAMILY, tokenizer

BLOCK = BlockConfig(dim=384, n_heads=12, hidden=13, norm="before", dropout=0.0)
DECODING = SpanDecoding(limit=7, window=61, stride=29, declines_above=1.0, length_penalty=0.25)


def tiny_answerer(folder: Path, *, joint: bool = True, decoding: SpanDecoding = DECODING, depth: int | None = None) -> Path:
    """A folder that holds one; one of the encoder's own weights is changed, too."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    config = AnswererConfig(joint, n_layers=2, block=BLOCK, mixing=not joint, depth=depth)
    weights = {name: value.half() for name, value in Answerer(config).state_dict().items()}
    # Of this size, weights make random models say something else for every text.
    weights |= {name: 9 * value for name, value in weights.items() if name.endswith(("query.weight", "output.weight"))}
    weights["encoder.encoder.layer.2.output.LayerNorm.bias"] = torch.randn(384).half() / 9
    save_file(weights, str(folder / "model.safetensors"))
    paper = "https://arxiv.org/abs/1611.01603"
    card = {"name": folder.name, "task": "answers", "languages": ["en"], "licence": "Apache-2.0", "sources": [paper]}
    (folder / "config.json").write_text(json.dumps({**configuration(config, decoding), "card": card}), encoding="utf-8")
    (folder / "metrics.json").write_text(json.dumps({"EM": 12.5, "F1": 25.0, "hardware": "none"}), encoding="utf-8")
    return folder


def tiny_hub_answerer(folder: Path, name: str = "bert") -> Any:
    """A random model of a family with a layer that finds answers, and its tokenizer, in a folder as the hub would have it."""
    family = FAMILY[name]
    torch.manual_seed(3)
    model = AutoModelForQuestionAnswering.from_config(family.config(), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 1.2 * parameter.shape[-1] ** -0.5) if parameter.dim() >= 2 else parameter.add_(0.1)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return model
