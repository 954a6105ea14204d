"""Load a model of our own: one that travels in assets/models/, or a folder that `python -m recipes` saved.

A folder holds config.json, model.safetensors, metrics.json and what its kind needs besides. The `kind` in config.json names the
kind; the table `KINDS` says what builds it.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from attnviz.core.errors import ModelError, ModelNotFoundError, failing_as
from attnviz.core.whole_files import sha256
from attnviz.models.base import AttentionModel, Progress, silent

# Beside a matrix that is saved as integers stands one power of two a row, under its name and this.
EXPONENTS = ".exponents"
# The power of two of a row of zeros.
_LEAST_EXPONENT = -100


def pack(
    weights: Mapping[str, Tensor], bits: Callable[[str], int], *, n_bytes: int = 2, vectors: torch.dtype = torch.float16
) -> dict[str, Tensor]:
    """Round matrices to steps of about 1/2^bits of each row's root mean square; what has another shape, to `vectors`.

    The steps are powers of two, one a row, and larger where a row's largest number would not fit `n_bytes`. High bytes stand
    apart from low ones: nearly all are small, and compress well. `unpacked` is the reverse.
    """
    most = 2 ** (8 * n_bytes - 1)
    saved = {}
    for name, value in weights.items():
        value = value.detach().cpu().float()
        if value.ndim != 2:
            saved[name] = value.to(vectors).contiguous()
            continue
        size = value.square().mean(dim=1).sqrt().clamp(min=2.0**_LEAST_EXPONENT).log2().round() - bits(name)
        exponents = torch.maximum(size.int(), torch.frexp(value.abs().amax(dim=1)).exponent - (8 * n_bytes - 1))
        integers = torch.ldexp(value, -exponents[:, None]).round().clamp(-most, most - 1).int()
        saved[name] = torch.stack([integers >> 8 * place & 255 for place in reversed(range(n_bytes))]).to(torch.uint8)
        saved[name + EXPONENTS] = exponents.to(torch.int8)
    return saved


def unpacked(saved: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Restore weights in float32, as `pack` has saved them.

    A matrix is integer · 2^exponent, one exponent a row: the highest bytes of all integers, then the lower. All else is floats.

    >>> planes = torch.tensor([[[255, 1]], [[254, 0]]], dtype=torch.uint8)
    >>> unpacked({"w": planes, "w.exponents": torch.tensor([-1], dtype=torch.int8)})
    {'w': tensor([[ -1., 128.]])}
    """

    def whole(name: str, value: Tensor) -> Tensor:
        if (exponents := saved.get(name + EXPONENTS)) is None:
            return value.float()
        high, *lower = value
        integers = high.view(torch.int8).float()
        for plane in lower:
            integers = integers * 256 + plane.float()
        # NumPy's power of two is exact.
        steps = torch.from_numpy(np.ldexp(np.float32(1), exponents.numpy().astype(np.int32)))
        return integers * steps[:, None]

    return {name: whole(name, value) for name, value in saved.items() if not name.endswith(EXPONENTS)}


OwnKind = Literal["seq2seq", "transformer", "answerer", "summarizer"]
CONFIG, WEIGHTS, METRICS = "config.json", "model.safetensors", "metrics.json"
# kind -> "module:function", called with a SavedModel and a Progress; imported when a folder of that kind is loaded.
KINDS: dict[OwnKind, str] = {
    "seq2seq": "attnviz.models.shipped_translators:translator",
    "transformer": "attnviz.models.shipped_translators:translator",
    "answerer": "attnviz.models.shipped_answerer:answerer",
    "summarizer": "attnviz.models.shipped_summarizer:summarizer",
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
