"""attnviz: type a sentence, see what every attention head of a real model does with it."""

from typing import TYPE_CHECKING

from attnviz.errors import AttnvizError
from attnviz.trace import AttentionMap, AttentionTrace, Prompt, Token

if TYPE_CHECKING:
    from attnviz.models.catalog import available, load, wrap

__version__ = "0.1.0"
__all__ = ["AttentionMap", "AttentionTrace", "AttnvizError", "Prompt", "Token", "available", "load", "wrap"]


def __getattr__(name: str) -> object:
    # Models bring torch; importing attnviz does not.
    if name in ("available", "load", "wrap"):
        from attnviz.models import catalog

        return getattr(catalog, name)
    raise AttributeError(f"module 'attnviz' has no attribute {name!r}")
