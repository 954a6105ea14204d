"""The files of a trained model's folder: weights in half precision, and figures that belong to those weights; and its model."""

import json
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import save as serialized
from torch import Tensor

from attnviz.core import disk
from attnviz.core.errors import ModelError
from attnviz.models.base import Progress, silent
from attnviz.models.shipped import CONFIG, METRICS, WEIGHTS, load_trained

Own = TypeVar("Own")


def save_weights(weights: dict[str, Tensor], config: dict[str, Any], folder: Path) -> None:
    """Write model.safetensors, in half precision, and config.json.

    Half precision halves the file; trained weights are far from its limits, and what is measured is what was saved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False)
    disk.write(folder / CONFIG, text + "\n")
    halves = {name: value.detach().cpu().to(torch.float16).contiguous() for name, value in weights.items()}
    disk.write(folder / WEIGHTS, serialized(halves))


def rounded(metrics: dict[str, Any]) -> dict[str, Any]:
    """Figures as they are shown and saved: to the second digit."""
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in metrics.items()}


def save_metrics(metrics: dict[str, Any], folder: Path) -> None:
    """Write metrics.json, with the weights' SHA-256: these figures belong to that file and to no other."""
    weights = folder / WEIGHTS
    figures = {**rounded(metrics), "bytes": weights.stat().st_size, "sha256": disk.sha256(weights)}
    disk.write(folder / METRICS, json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


def load_trained_as(expected: type[Own], folder: Path, progress: Progress = silent) -> Own:
    """Load a model from a folder where only one type of model will do.

    Raises:
        ModelError: as of `load_trained`, or it is a model of another type.
    """
    model = load_trained(folder, progress)
    if not isinstance(model, expected):
        raise ModelError(f"The model in {folder} is of another kind: it {model.card.task}.")
    return model
