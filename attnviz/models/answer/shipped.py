"""The answerers that travel with attnviz, out of their folders in assets/models/.

A folder holds only what training has changed: the blocks across, and those of the encoder's weights that are no longer the
embedded encoder's, under the names that they have in `attnviz.nn.qa.Answerer`.
"""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from attnviz.core.disk import sha256
from attnviz.core.errors import ModelError, ModelNotFoundError
from attnviz.models.answer.base import Decoding
from attnviz.models.answer.own import AnswerModel
from attnviz.models.base import ModelCard, Progress
from attnviz.models.hub.encoder import TracedModel
from attnviz.models.hub.minilm import minilm
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.qa import Answerer, AnswererConfig
from attnviz.paths import assets_folder

CONFIG, WEIGHTS, METRICS = "config.json", "model.safetensors", "metrics.json"
KIND = "answerer"


def build(config: dict[str, Any], encoder: Any) -> Answerer:
    """The answerer that a configuration describes, on top of an encoder's modules, with weights not yet loaded."""
    values = dict(config["model"])
    values |= {"block": BlockConfig(**values["block"]), "special": tuple(values["special"])}
    return Answerer(AnswererConfig(**values), encoder)


def configuration(config: AnswererConfig, decoding: Decoding) -> dict[str, Any]:
    """What `build` and `load_folder` build from."""
    return {"kind": KIND, "model": asdict(config), "decoding": asdict(decoding)}


def load_folder(folder: Path, progress: Progress) -> AnswerModel:
    """An answerer that `attnviz train` saved.

    Raises:
        ModelNotFoundError: the folder holds none.
        ModelError: what it holds is damaged.
    """
    if not (folder / CONFIG).is_file():
        raise ModelNotFoundError(f"There is no answerer in {folder}; train one with: attnviz train {folder.name} --data FOLDER")
    # Loaded anew for every answerer, which changes its weights.
    encoder = minilm(progress)
    progress(f"Loading {folder.name}", None)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        answerer = build(config, encoder.model)
        _load(answerer, folder / WEIGHTS)
        answerer.to(encoder.model.device)
        decoding = Decoding(**config["decoding"])
        metrics = json.loads((folder / METRICS).read_text(encoding="utf-8")) if (folder / METRICS).is_file() else {}
        card = replace(_card(config["card"], encoder, answerer, metrics), revision=sha256(folder / WEIGHTS))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"The answerer in {folder} is damaged and cannot be read; get it again.") from error
    return AnswerModel(card, replace(encoder, card=replace(card, reads=("pair",))), answerer, decoding)


def _load(answerer: Answerer, path: Path) -> None:
    """Lays the weights of a file over those that are there.

    Raises:
        ValueError: it has others than this model, or not all of those that the encoder does not bring.
    """
    weights = {name: value.float() for name, value in load_file(path).items()}
    report = answerer.load_state_dict(weights, strict=False)
    missing = [name for name in report.missing_keys if not name.startswith("encoder.")]
    if missing or report.unexpected_keys:
        raise ValueError(f"weights do not fit: {missing} {report.unexpected_keys}")
    answerer.eval().requires_grad_(False)


def _card(about: dict[str, Any], encoder: TracedModel, answerer: Answerer, metrics: dict[str, Any]) -> ModelCard:
    return replace(
        encoder.card,
        name=about["name"],
        task=about["task"],
        n_layers=answerer.config.depth or encoder.card.n_layers,
        parameters=sum(parameter.numel() for parameter in answerer.parameters()),
        reads=("question", "pair"),
        languages=tuple(about["languages"]),
        licence=about["licence"],
        sources=(*about["sources"], *encoder.card.sources),
        metrics={name: float(value) for name, value in metrics.items() if isinstance(value, int | float)},
    )


def answer_en(progress: Progress) -> AnswerModel:
    """Question and passage read as one pair, then cross-attention between the two."""
    return load_folder(assets_folder() / "models" / "answer-en", progress)


def answer_en_dual(progress: Progress) -> AnswerModel:
    """Question and passage read each on its own: all that one learns of the other comes through cross-attention."""
    return load_folder(assets_folder() / "models" / "answer-en-dual", progress)
