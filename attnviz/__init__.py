"""attnviz: type a sentence, see what every attention head of a real model does with it."""

import importlib
from typing import TYPE_CHECKING

from attnviz.core.errors import AttnvizError
from attnviz.core.trace import AttentionMap, AttentionTrace, Prompt, Token

if TYPE_CHECKING:
    from attnviz.core.from_weights import from_weights
    from attnviz.files import open_trace as open
    from attnviz.models.catalog import available, load, wrap

__version__ = "0.1.0"
__all__ = [
    "AttentionMap", "AttentionTrace", "AttnvizError", "Prompt", "Token", "available", "from_weights", "load", "open", "wrap",
]  # fmt: skip
# name -> "module:function", imported when asked for: models bring torch, files safetensors.
_LAZY = {
    "available": "attnviz.models.catalog:available",
    "from_weights": "attnviz.core.from_weights:from_weights",
    "load": "attnviz.models.catalog:load",
    "open": "attnviz.files:open_trace",
    "wrap": "attnviz.models.catalog:wrap",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
    module, function = _LAZY[name].split(":")
    return getattr(importlib.import_module(module), function)
