"""Edits in models that compute attention in code of their own: at the softmax of each attention, whatever stands around it.

Which module computes which attention is not looked up but measured: when a model is loaded, one pass shows what every softmax
gave. Where each layer's weights are what exactly one of them gave, these modules are edited there; where not, none is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from attnviz.core.arrays import Kind
from attnviz.core.row_sums import renormalize, rounding_of
from attnviz.core.weights import WeightStore
from attnviz.nn.edit import edited_pass
from attnviz.nn.edit.edited_pass import AttentionCall, Intervention

_SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}
# A mask is a large negative number in most models. No score that counts is so far below the largest of its row.
MASKED_BELOW = 1e3
# A head that computes its weights twice rounds otherwise.
ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class Softmax:
    """What one softmax of a pass over a single text gave, the module that computed it, and how many it computed before."""

    module: nn.Module
    place: int
    weights: Float[Tensor, "one head query key"]


def trace_softmaxes(model: nn.Module, run: Callable[[], Any]) -> tuple[Softmax, ...]:
    """Run a model, and list what its softmaxes over several heads gave; none where it cannot be run."""
    within: list[tuple[nn.Module, Iterator[int]]] = []
    made: list[Softmax] = []

    def enter(module: nn.Module, _: Any) -> None:
        within.append((module, count()))

    def leave(*_: Any) -> None:
        within.pop()

    def keep(weights: Tensor, _: Tensor) -> None:
        module, places = within[-1]
        made.append(Softmax(module, next(places), _by_head(weights)))

    hooks = [each.register_forward_pre_hook(enter) for each in model.modules()]
    hooks += [each.register_forward_hook(leave, always_call=True) for each in model.modules()]
    try:
        with torch.inference_mode(), _AtSoftmax(keep):
            run()
    except Exception:  # whatever code of others raises: what it cannot do is said by its readers
        return ()
    finally:
        for hook in hooks:
            hook.remove()
    return tuple(made)


def editable_kinds(
    kinds: Mapping[int, Kind], softmaxes: Sequence[Softmax], stores: Mapping[Kind, WeightStore], dtype: torch.dtype
) -> Mapping[int, Kind] | None:
    """Let edits act at the softmaxes that gave the weights of `stores`, and return the kinds; None where some are not told.

    `dtype` is the model's: what it rounds its weights to.
    """
    rounding = rounding_of(dtype)
    chosen: list[Softmax] = []
    for kind, store in stores.items():
        own = [each for each in softmaxes if kinds.get(id(each.module), "encoder") == kind]
        own = [each for each in own if tuple(each.weights.shape[1:]) == (store.n_heads, *store.shape)]
        if len(own) != store.n_layers or not all(_gave(each, store, layer, rounding) for layer, each in enumerate(own)):
            return None
        chosen += own
    modules = {(id(each.module), each.place): each.module for each in chosen}
    if len(modules) != len({id(module) for module in modules.values()}):
        return None
    for (_, place), module in modules.items():
        module.forward = partial(_edited_forward, module, place, module.forward)
    return kinds


def _gave(softmax: Softmax, store: WeightStore, layer: int, rounding: float) -> bool:
    given = renormalize(softmax.weights[0].float().cpu().numpy(), layer, rounding)
    # A softmax in float32 is rounded behind it, and a row that sums to 1 again moves as far once more.
    return np.allclose(given, store.layer(layer), atol=ROUNDING + 2 * rounding)


def _edited_forward(module: nn.Module, place: int, forward: Callable[..., Any], *given: Any, **named: Any) -> Any:
    if (now := edited_pass.running()) is None:
        return forward(*given, **named)
    places = count()

    def edit(weights: Tensor, scores: Tensor) -> Tensor | None:
        return _edited_weights(module, now, weights, scores) if next(places) == place else None

    with _AtSoftmax(edit):
        return forward(*given, **named)


def _edited_weights(module: nn.Module, now: Intervention, weights: Tensor, scores: Tensor) -> Tensor:
    kind = now.places.get(id(module), now.stack)
    n_heads = now.sizes[kind][1]

    def scores_of(heads: Sequence[int]) -> Tensor:
        some, given = _by_head(scores, n_heads)[:, heads], _by_head(weights, n_heads)[:, heads]
        lowest = some.amax(dim=-1, keepdim=True) - MASKED_BELOW
        return some.masked_fill((given == 0) & (some < lowest), -torch.inf)

    changed, _ = now.change(kind, AttentionCall(_by_head(weights, n_heads), scores_of))
    return changed.view_as(weights)


def _by_head(weights: Tensor, n_heads: int | None = None) -> Float[Tensor, "batch head query key"]:
    """Set heads apart: some models lay them beside the texts of a batch."""
    if weights.ndim == 4:
        return weights
    return weights.view(-1, n_heads or len(weights), *weights.shape[1:])


class _AtSoftmax(TorchFunctionMode):
    """Within this context and in this thread alone, `act` may change what every softmax gives, and is given its scores."""

    def __init__(self, act: Callable[[Tensor, Tensor], Tensor | None]) -> None:
        super().__init__()
        self._act = act

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func not in _SOFTMAX or made.ndim not in (3, 4):
            return made
        changed = self._act(made, args[0] if args else (kwargs or {})["input"])
        return made if changed is None else changed
