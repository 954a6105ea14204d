"""Toy models: small translators of the tasks of `attnviz.text.toy_tasks`, each whole in one safetensors file.

The file's metadata say which task it is and how the model is built; the task says how it reads and writes.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.models.base import ModelCard
from attnviz.models.shipped_translators import TranslationModel
from attnviz.models.toy_config import MAX_TOKENS, ToyConfig
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.lstm_translator import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.transformer_translator import Translator, TranslatorConfig
from attnviz.text.toy_tasks import MARKS, TOYS

LARGEST_BYTES = 16 * 2**20
_PAPERS = {
    "additive": "https://arxiv.org/abs/1409.0473",
    "dot": "https://arxiv.org/abs/1508.04025",
    "scaled": "https://arxiv.org/abs/1508.04025",
    "transformer": "https://arxiv.org/abs/1706.03762",
}


def untrained_toy(config: ToyConfig) -> Seq2Seq | Translator:
    """Build the model, not yet trained. Nothing is dropped out: what it learns from never repeats.

    Raises:
        ModelError: the heads do not divide the dimension.
    """
    task = TOYS[config.task]
    sizes = len(MARKS) + len(task.inputs), len(MARKS) + len(task.outputs)
    if config.kind == "transformer":
        block = BlockConfig(config.dim, config.n_heads, 2 * config.dim, norm="before", dropout=0.0, scaled=config.scaled)
        return Translator(TranslatorConfig(*sizes, config.n_layers, block, MAX_TOKENS))
    recurrent = RecurrentConfig(config.dim, config.dim, dropout=0.0)
    return Seq2Seq(Seq2SeqConfig(*sizes, config.kind, recurrent))


def toy_model(config: ToyConfig, weights: Mapping[str, Tensor]) -> TranslationModel:
    """Make an `AttentionModel` of a toy with these weights, which are copied.

    Raises:
        ModelError: the weights are not those of such a model.
    """
    model = untrained_toy(config)
    try:
        model.load_state_dict(dict(weights))
    except RuntimeError as error:
        raise ModelError(f"These are not the weights of {config.name}: save the model again.") from error
    model.eval().requires_grad_(False).float()
    task, stacked = TOYS[config.task], config.kind == "transformer"
    card = ModelCard(
        name=config.name,
        task=task.about,
        architecture="encoder-decoder",
        n_layers=config.n_layers if stacked else 1,
        n_heads=config.n_heads if stacked else 1,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_tokens=MAX_TOKENS,
        device="cpu",
        reads=("target",),
        sources=(_PAPERS[config.kind],),
    )
    return TranslationModel(card, model, task.source, task.target)


def to_bytes(config: ToyConfig, weights: Mapping[str, Tensor], facts: Mapping[str, Any] | None = None) -> bytes:
    """Write a toy as a safetensors file; `facts` are kept beside its configuration, such as how it was trained."""
    metadata = {"attnviz": json.dumps({"toy": dataclasses.asdict(config), **(facts or {})})}
    return save({name: value.detach().cpu().contiguous() for name, value in weights.items()}, metadata)


def from_bytes(data: bytes, name: str = "this file") -> tuple[ToyConfig, dict[str, Tensor], dict[str, Any]]:
    """Read the configuration, the weights and the facts of a file that `to_bytes` made.

    Raises:
        ModelError: it is no such file, or is damaged.
    """
    if len(data) > LARGEST_BYTES:
        raise ModelError(f"{name} is larger than any toy model: choose a file that was saved on the page Train.")
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        facts = json.loads(header["__metadata__"]["attnviz"])
        config = ToyConfig(**facts.pop("toy"))
        # Whatever precision somebody has saved them in; a type that PyTorch cannot read is a RuntimeError of its own.
        weights = {key: _floats(value) for key, value in load(data).items()}
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, SafetensorError, ModelError) as error:
        raise ModelError(
            f"{name} holds no toy model, or is damaged: choose a file that was saved on the page Train."
        ) from error
    if not all(bool(value.isfinite().all()) for value in weights.values()):
        raise ModelError(f"{name} has weights that are not finite: train the model again.")
    return config, weights, facts


def _floats(value: Tensor) -> Tensor:
    if not value.is_floating_point():
        raise TypeError(f"weights are no {value.dtype}")
    return value.to(torch.float32)


def load_file(path: Path) -> TranslationModel:
    """Load a toy model from its file.

    Raises:
        ModelNotFoundError: there is no such file.
        ModelError: it is damaged, or no toy model.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelNotFoundError(f"{path} cannot be read: {error.strerror}.") from error
    return toy_model(*from_bytes(data, path.name)[:2])
