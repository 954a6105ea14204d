"""Many edits of one text at once: what stands below the first edited layer is computed for one row, and shared by all.

The layers of a model hand on what they read as it is, unless the thread that calls them has said where one row becomes many.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import WeakSet

from torch import nn

# The layer before which one row becomes many, and how many.
_wide: ContextVar[tuple[int, int] | None] = ContextVar("attnviz_widening", default=None)
_ready: "WeakSet[nn.Module]" = WeakSet()


def prepare(body: nn.Module, n_layers: int) -> None:
    """Let the layers of a stack widen; one whose layers are not a list of their own, such as ALBERT's, stays as it is."""
    lists = [each for each in body.modules() if isinstance(each, nn.ModuleList) and len(each) == n_layers]
    if not lists:
        return
    # Experts may be as many as layers: the layers hold them all.
    layers = max(lists, key=lambda each: sum(parameter.numel() for parameter in each.parameters()))
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(partial(_widen, number), with_kwargs=True)
    _ready.add(body)


def is_ready(body: nn.Module) -> bool:
    """Tell whether a stack can widen."""
    return body in _ready


@contextmanager
def widening(layer: int, n_rows: int) -> Iterator[None]:
    """Within this context, and in this thread alone, one row becomes so many before that layer."""
    token = _wide.set((layer, n_rows))
    try:
        yield
    finally:
        _wide.reset(token)


def _widen(number: int, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    if (wide := _wide.get()) is None or wide[0] != number:
        return None
    states = given[0] if given else named["hidden_states"]
    # Masks and positions are the same for all rows, and are stretched where they are used.
    many = states.expand(wide[1], *states.shape[1:]).contiguous()
    return ((many, *given[1:]), named) if given else (given, {**named, "hidden_states": many})
