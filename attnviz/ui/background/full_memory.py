"""What a server does where its memory is nearly full."""

from typing import Any

from attnviz import memory
from attnviz.core.errors import ModelTooLargeError
from attnviz.models import catalog
from attnviz.ui.background.lru_cache import LruCache


def check_room(name: str) -> None:
    """Stops at a further model of the hub where memory is nearly full; most of the catalog are small.

    Raises:
        ModelTooLargeError: it is.
    """
    is_small = name in catalog.CATALOG and not catalog.CATALOG[name].large
    if not is_small and (held := memory.read()) and held.is_tight:
        raise ModelTooLargeError(
            f"There is no memory left for {name}: choose a model that travels with attnviz, or come back later."
        )


def make_room(traces: LruCache[Any]) -> None:
    """Lets go of every trace that is kept where memory is nearly full: each is computed again when it is asked for."""
    if (held := memory.read()) and held.is_tight:
        traces.clear()
