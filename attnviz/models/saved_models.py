"""Load a model of our own: one that travels in assets/models/, or a folder that `python -m recipes` saved.

A folder holds config.json, model.safetensors, metrics.json and what its kind needs besides. The `kind` in config.json names the
kind; the table `KINDS` says what builds it.
"""

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safetensors.torch import load_file
from torch import Tensor

from attnviz.core.disk import sha256
from attnviz.core.errors import ModelError, ModelNotFoundError, failing_as
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.models.packed_weights import unpacked

OwnKind = Literal["seq2seq", "transformer", "answerer", "summarizer"]
CONFIG, WEIGHTS, METRICS = "config.json", "model.safetensors", "metrics.json"
# kind -> "module:function", called with a SavedModel and a Progress; imported when a folder of that kind is loaded.
KINDS: dict[OwnKind, str] = {
    "seq2seq": "attnviz.models.translate.build_translator:translator",
    "transformer": "attnviz.models.translate.build_translator:translator",
    "answerer": "attnviz.models.answer.build_answerer:answerer",
    "summarizer": "attnviz.models.summarize.build_summarizer:summarizer",
}
# Only a translator of ours has the subwords of a source language, however damaged the rest of it is.
_SUBWORDS = "source.json"


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a folder holds, read and not yet built; `revision` is the SHA-256 of its weights, which are in float32 here."""

    folder: Path
    config: dict[str, Any]
    weights: dict[str, Tensor]
    metrics: dict[str, float]
    revision: str

    @property
    def about(self) -> dict[str, Any]:
        """Return what the folder says for the card, under the names of the card's fields."""
        about = self.config["card"]
        return {
            "name": about["name"],
            "task": about["task"],
            "licence": about["licence"],
            "sources": tuple(about["sources"]),
            "metrics": self.metrics,
            "revision": self.revision,
        }


def load_trained(folder: Path, progress: Progress = silent) -> AttentionModel:
    """Load a model from a folder that `python -m recipes` saved, whatever its kind.

    Raises:
        ModelNotFoundError: the folder holds none.
        ModelError: what it holds is damaged.
    """
    if not (folder / CONFIG).is_file():
        raise ModelNotFoundError(f"There is no model in {folder}; train it with: python -m recipes {folder.name} --data DATA")
    progress(f"Loading {folder.name}", None)
    with failing_as(ModelError, f"The model in {folder} is damaged and cannot be read; get it again."):
        saved = _read(folder)
        module, function = KINDS[saved.config["kind"]].split(":")
        build: Callable[[SavedModel, Progress], AttentionModel] = getattr(importlib.import_module(module), function)
        return build(saved, progress)


def kind_of(name: str | Path) -> str:
    """Look up which kind of our own models a folder of that name holds; "" for any other folder, and for none."""
    try:
        folder = Path(name).expanduser()
        if (folder / _SUBWORDS).is_file():
            return "seq2seq"
        if not (folder / CONFIG).is_file():
            return ""
        kind = json.loads((folder / CONFIG).read_text(encoding="utf-8")).get("kind")
        return kind if kind in KINDS else ""
    except (OSError, RuntimeError, ValueError, AttributeError, TypeError):
        return ""  # too long for a path, or of a user who does not exist: no folder


def _read(folder: Path) -> SavedModel:
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    weights = unpacked(load_file(folder / WEIGHTS))
    noted = json.loads((folder / METRICS).read_text(encoding="utf-8")) if (folder / METRICS).is_file() else {}
    metrics = {name: float(value) for name, value in noted.items() if isinstance(value, int | float)}
    return SavedModel(folder, config, weights, metrics, sha256(folder / WEIGHTS))
