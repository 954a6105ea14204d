"""Toy models: small translators of the tasks of `attnviz.text.toys`, each whole in one safetensors file.

The file's metadata say which task it is and how the model is built; the task says how it reads and writes.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.models.base import ModelCard
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.seq2seq import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.translator import Translator, TranslatorConfig
from attnviz.text.toys import MARKS, TOYS

ToyKind = Literal["additive", "dot", "scaled", "transformer"]
TOY_KINDS: tuple[ToyKind, ...] = get_args(ToyKind)
MAX_TOKENS = 64
# What stands in a source for padding that is read like any token: the mark of what is not known.
FILLED = 3
LARGEST_BYTES = 16 * 2**20
_PAPERS = {
    "additive": "https://arxiv.org/abs/1409.0473",
    "dot": "https://arxiv.org/abs/1508.04025",
    "scaled": "https://arxiv.org/abs/1508.04025",
    "transformer": "https://arxiv.org/abs/1706.03762",
}


@dataclass(frozen=True)
class ToyConfig:
    """Which task, and which model: `n_layers` and `n_heads` are those of a Transformer; all states are `dim` wide.

    scaled  a Transformer's scores are divided by √d; of an LSTM, the kind says whether they are

    Raises:
        ModelError: there is no such task or kind, or the sizes are none that a toy has.

    >>> ToyConfig("reverse", "additive").name
    'toy-reverse-additive'
    """

    task: str
    kind: ToyKind
    n_layers: int = 1
    n_heads: int = 1
    dim: int = 64
    scaled: bool = True

    def __post_init__(self) -> None:
        if self.task not in TOYS:
            raise ModelError(f"a toy task is one of {', '.join(TOYS)}, not {self.task!r}")
        if self.kind not in TOY_KINDS:
            raise ModelError(f"a toy model is one of {', '.join(TOY_KINDS)}, not {self.kind!r}")
        sizes = self.n_layers, self.n_heads, self.dim
        if not all(type(size) is int and 1 <= size <= most for size, most in zip(sizes, (4, 8, 256), strict=True)):
            raise ModelError(f"a toy model has at most 4 layers, 8 heads and 256 dimensions, not {sizes}")
        if type(self.scaled) is not bool:
            raise ModelError(f"a toy model is scaled or not, and {self.scaled!r} says neither")

    @property
    def name(self) -> str:
        return f"toy-{self.task}-{self.kind}"


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
    model.eval().requires_grad_(False)
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
