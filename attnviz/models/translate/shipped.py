"""The translators that travel with attnviz, out of their folders in assets/models/."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer

from attnviz.core.disk import sha256
from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.models import device
from attnviz.models.base import ModelCard, Progress, silent
from attnviz.models.translate.own import TranslationModel
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.seq2seq import RecurrentConfig, Seq2Seq, Seq2SeqConfig
from attnviz.nn.translator import Translator, TranslatorConfig
from attnviz.paths import assets_folder

CONFIG, WEIGHTS, METRICS = "config.json", "model.safetensors", "metrics.json"
# Each language has its own subwords.
SOURCE, TARGET = "source.json", "target.json"
MAX_TOKENS = 128


def build(config: dict[str, Any]) -> Seq2Seq | Translator:
    """The model that a configuration describes, with weights not yet loaded."""
    values = dict(config["model"])
    if config["kind"] == "transformer":
        return Translator(TranslatorConfig(**{**values, "block": BlockConfig(**values["block"])}))
    return Seq2Seq(Seq2SeqConfig(**{**values, "recurrent": RecurrentConfig(**values["recurrent"])}))


def load_folder(folder: Path, progress: Progress = silent) -> TranslationModel:
    """A translator that `attnviz train` saved.

    Raises:
        ModelNotFoundError: the folder holds none.
        ModelError: what it holds is damaged.
    """
    if not (folder / CONFIG).is_file():
        raise ModelNotFoundError(
            f"There is no translator in {folder}; train one with: attnviz train {folder.name} --data FOLDER"
        )
    progress(f"Loading {folder.name}", None)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        model = build(config)
        weights, revision = load_file(folder / WEIGHTS), sha256(folder / WEIGHTS)
        model.load_state_dict({name: value.float() for name, value in weights.items()})
        source, target = (Tokenizer.from_file(str(folder / name)) for name in (SOURCE, TARGET))
        layers, heads = (1, 1) if isinstance(model, Seq2Seq) else (model.config.n_layers, model.config.block.n_heads)
        told = _told(config, layers, heads)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"The translator in {folder} is damaged and cannot be read; get it again.") from error
    where = device.choose()
    model.eval().requires_grad_(False).to(where)
    about = config["card"]
    card = ModelCard(
        name=about["name"],
        task=about["task"],
        architecture="encoder-decoder",
        n_layers=layers,
        n_heads=heads,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        max_tokens=MAX_TOKENS,
        device=str(where),
        reads=("target",),
        languages=tuple(about["languages"]),
        licence=about["licence"],
        sources=tuple(about["sources"]),
        metrics=_metrics(folder),
        revision=revision,
        told=told,
    )
    return TranslationModel(card, model, source, target)


def _told(config: dict[str, Any], n_layers: int, n_heads: int) -> tuple[int, int] | None:
    """The head that the recipe says was taught to align."""
    if not (told := config.get("recipe", {}).get("told")):
        return None
    layer, head = int(told["layer"]), int(told["head"])
    if not (0 <= layer < n_layers and 0 <= head < n_heads):
        raise ValueError(f"there is no head L{layer}·H{head}")
    return layer, head


def _metrics(folder: Path) -> dict[str, float]:
    path = folder / METRICS
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def bahdanau(progress: Progress) -> TranslationModel:
    """Bahdanau, Cho & Bengio 2014, arXiv:1409.0473: additive attention."""
    return _shipped("bahdanau-en-fr", progress)


def bilstm(progress: Progress) -> TranslationModel:
    """A bidirectional LSTM whose decoder attends by a scaled dot product."""
    return _shipped("bilstm-en-fr", progress)


def dot_lstm(progress: Progress) -> TranslationModel:
    """A one-directional LSTM whose decoder attends by a dot product: Luong et al. 2015, arXiv:1508.04025."""
    return _shipped("dot-lstm-en-fr", progress)


def transformer(progress: Progress) -> TranslationModel:
    """Vaswani et al. 2017, arXiv:1706.03762: attention and nothing else; one of its heads was told to align."""
    return _shipped("transformer-en-fr", progress)


def _shipped(name: str, progress: Progress) -> TranslationModel:
    return load_folder(assets_folder() / "models" / name, progress)
