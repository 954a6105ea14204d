"""The models that attnviz knows by name, and the way to every other one."""

import importlib

from attnviz.models.protocol import AttentionModel, Progress

# name -> "module:function"; imported when asked for, so that listing the catalog costs nothing.
CATALOG = {
    "minilm": "attnviz.models.embedded:minilm",
}


def available() -> tuple[str, ...]:
    """The names of the catalog."""
    return tuple(CATALOG)


def load(name: str, *, allow_folders: bool = True, progress: Progress | None = None) -> AttentionModel:
    """A model that traces attention: a name of the catalog, a Hugging Face id, or a folder."""
    if name in CATALOG:
        module, function = CATALOG[name].split(":")
        return getattr(importlib.import_module(module), function)(progress)
    raise NotImplementedError
