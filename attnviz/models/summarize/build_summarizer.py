"""Build the summarizer of our own from its saved folder: trained layers of attention on the embedded encoder."""

from dataclasses import asdict, replace
from typing import Any

from attnviz.models.base import Progress
from attnviz.models.hub.minilm import minilm
from attnviz.models.saved_models import SavedModel
from attnviz.models.summarize.summary_model import SummaryModel
from attnviz.nn.encoder import BlockConfig
from attnviz.nn.summarizer import Summarizer, SummarizerConfig


def summarizer(saved: SavedModel, progress: Progress) -> SummaryModel:
    """Build a summarizer on the embedded encoder, which stays as it was published.

    Raises:
        ValueError, KeyError, RuntimeError, …: the folder is damaged.
    """
    encoder = minilm(progress)
    model = untrained_summarizer(saved.config)
    model.load_state_dict(saved.weights)
    model.eval().requires_grad_(False).to(encoder.model.device)
    about: dict[str, Any] = {**saved.about, "sources": (*saved.about["sources"], *encoder.card.sources)}
    n_layers = encoder.card.n_layers
    card = replace(
        encoder.card,
        **about,
        n_layers=n_layers + model.config.n_layers,
        parameters=encoder.card.parameters + sum(parameter.numel() for parameter in model.parameters()),
        reads=(),
        # The first trained layer chooses words, the last one sentences.
        selects=(n_layers, n_layers + model.config.n_layers - 1),
    )
    return SummaryModel(card, encoder, model)


def untrained_summarizer(config: dict[str, Any]) -> Summarizer:
    """Build the summarizer that a configuration describes, with weights not yet loaded."""
    values: dict[str, Any] = {**config["model"], "block": BlockConfig(**config["model"]["block"])}
    return Summarizer(SummarizerConfig(**values))


def configuration(config: SummarizerConfig) -> dict[str, Any]:
    """Describe a summarizer as `summarizer` reads it."""
    return {"kind": "summarizer", "model": asdict(config)}
