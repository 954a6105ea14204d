"""Models that travel with attnviz are loaded once in a process: they keep nothing from a call, so that tests may share them."""

import copy
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from attnviz import settings
from attnviz.core.errors import AttnvizError
from attnviz.models import catalog
from attnviz.models.base import AttentionModel, Progress, silent
from attnviz.settings import assets_folder

_models: dict[object, AttentionModel] = {}
_encoders: dict[object, Any] = {}
find = catalog._listed


def _settings() -> tuple[str | None, ...]:
    """List what a model is loaded by besides its name: a test may set it for itself."""
    return tuple(map(settings.text, ("ATTNVIZ_DEVICE", "ATTNVIZ_MAX_TOKENS")))


def listed(name: str) -> catalog.Build:
    """Find what loads a model of the catalog; a test that changes one takes the fixture `own_models`."""
    # A test may have other assets, or another entry under this name.
    key = name, catalog.CATALOG[name], assets_folder(), _settings()

    def build(progress: Progress) -> AttentionModel:
        if key not in _models:
            _models[key] = find(name)(progress)
        return _models[key]

    return build


def load_all() -> None:
    """Load all models of the catalog that can be had, for a process that is copied."""
    for name in catalog.CATALOG:
        with suppress(AttnvizError):
            listed(name)(silent)


def copied(load_folder: Callable[..., Any]) -> Callable[..., Any]:
    """Read the embedded encoder once: answerers change the weights of their own copy, and nothing of its tokenizer."""

    def load(folder: Path, *arguments: Any) -> Any:
        if (key := (folder, _settings())) not in _encoders:
            _encoders[key] = load_folder(folder, *arguments)
        read = _encoders[key]
        # Whoever uses the tokenizer holds the lock.
        return copy.deepcopy(read, {id(each): each for each in (read.tokenizer, read._lock)})

    return load
