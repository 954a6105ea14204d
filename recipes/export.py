"""The files of a trained model's folder: weights in about ten bits each, their figures; and the model that they hold."""

import json
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save as serialized
from torch import Tensor

from attnviz.core import whole_files
from attnviz.core.errors import ModelError
from attnviz.models.base import Progress, silent
from attnviz.models.shipped_models import CONFIG, METRICS, WEIGHTS, load_trained, pack

Own = TypeVar("Own")

# A matrix is rounded to steps of about 1/128 of each row's root mean square, an embedding to 1/256: heads depend on it most.
# int8 has about 1/40, and weights of heads of our translators moved by up to .03.
_STEP_BITS, _EMBEDDING_BITS = 7, 8


def save_weights(weights: dict[str, Tensor], config: dict[str, Any], folder: Path) -> None:
    """Write model.safetensors and config.json; what is measured is what was saved."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, indent=2, ensure_ascii=False)
    whole_files.write(folder / CONFIG, text + "\n")
    whole_files.write(folder / WEIGHTS, serialized(packed(weights)))


def packed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Round weights to what `unpacked` reads: matrices to 16-bit integers, all else to half precision."""
    return pack(weights, lambda name: _EMBEDDING_BITS if name.endswith("tokens.weight") else _STEP_BITS)


def rounded(metrics: dict[str, Any]) -> dict[str, Any]:
    """Figures as they are shown and saved: to the second digit."""
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in metrics.items()}


def save_metrics(metrics: dict[str, Any], folder: Path) -> None:
    """Write metrics.json, with the weights' SHA-256: these figures belong to that file and to no other."""
    weights = folder / WEIGHTS
    figures = {**rounded(metrics), "bytes": weights.stat().st_size, "sha256": whole_files.sha256(weights)}
    whole_files.write(folder / METRICS, json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


def load_trained_as(expected: type[Own], folder: Path, progress: Progress = silent) -> Own:
    """Load a model from a folder where only one type of model will do.

    Raises:
        ModelError: as of `load_trained`, or it is a model of another type.
    """
    model = load_trained(folder, progress)
    if not isinstance(model, expected):
        raise ModelError(f"The model in {folder} is of another kind: it {model.card.task}.")
    return model
