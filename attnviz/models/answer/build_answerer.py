"""Build an answerer of our own from its saved folder.

A folder holds only what training has changed: the blocks of cross-attention, and those of the encoder's weights that are no
longer the embedded encoder's, under the names that they have in `attnviz.nn.qa.Answerer`.
"""

from dataclasses import asdict, replace
from typing import Any

from torch import Tensor

from attnviz.models.answer.answer_model import AnswerModel
from attnviz.models.answer.decoding import SpanDecoding
from attnviz.models.base import Progress
from attnviz.models.hub.minilm import minilm
from attnviz.models.saved_models import SavedModel
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.qa import Answerer, AnswererConfig


def answerer(saved: SavedModel, progress: Progress) -> AnswerModel:
    """Build an answerer on an encoder of its own, whose weights it changes.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    encoder = minilm(progress)
    model = untrained_answerer(saved.config, encoder.model)
    _overlay(model, saved.weights)
    model.to(encoder.model.device)
    about: dict[str, Any] = {**saved.about, "sources": (*saved.about["sources"], *encoder.card.sources)}
    card = replace(
        encoder.card,
        **about,
        n_layers=model.config.depth or encoder.card.n_layers,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        reads=("question", "pair"),
        languages=tuple(saved.config["card"]["languages"]),
    )
    decoding = SpanDecoding(**saved.config["decoding"])
    return AnswerModel(card, replace(encoder, card=replace(card, reads=("pair",))), model, decoding)


def untrained_answerer(config: dict[str, Any], encoder: Any) -> Answerer:
    """Build the answerer that a configuration describes, on an encoder's modules, with weights not yet loaded."""
    values = dict(config["model"])
    values |= {"block": BlockConfig(**values["block"]), "special": tuple(values["special"])}
    return Answerer(AnswererConfig(**values), encoder)


def configuration(config: AnswererConfig, decoding: SpanDecoding) -> dict[str, Any]:
    """Describe an answerer as `answerer` reads it."""
    return {"kind": "answerer", "model": asdict(config), "decoding": asdict(decoding)}


def _overlay(model: Answerer, weights: dict[str, Tensor]) -> None:
    """Lay saved weights over those that are there.

    Raises:
        ValueError: there are others than this model's, or not all of those that the encoder does not bring.
    """
    report = model.load_state_dict(weights, strict=False)
    missing = [name for name in report.missing_keys if not name.startswith("encoder.")]
    if missing or report.unexpected_keys:
        raise ValueError(f"weights do not fit: {missing} {report.unexpected_keys}")
    model.eval().requires_grad_(False)
